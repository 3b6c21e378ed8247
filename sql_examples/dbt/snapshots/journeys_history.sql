{% snapshot journeys_history %}
{{ config(unique_key='card', strategy='check', check_cols=['next_country'], target_schema=target.schema) }}
SELECT card, next_country
  FROM {{ ref('payments') }}
  MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY ts
    MEASURES LAST(country) AS next_country
    PATTERN (p* last)
    DEFINE p AS NEXT(ts) IS NOT NULL)
{% endsnapshot %}
