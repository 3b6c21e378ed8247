{#- `dbt run` computes only the cards with late or corrected payments anew. -#}
{{ config(materialized='materialized_view') }}
SELECT card, left_at, seen_at, country, next_country
  FROM {{ ref('corrected_payments') }}
  MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY ts
    MEASURES FIRST(ts) AS left_at, LAST(ts) AS seen_at, FIRST(country) AS country, LAST(country) AS next_country
    AFTER MATCH SKIP TO LAST there
    PATTERN (here there)
    DEFINE there AS country <> PREV(country))
