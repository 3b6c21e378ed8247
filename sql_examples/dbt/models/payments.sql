{#- The stream's source: rows are only appended, so that streams over it can resume. -#}
{{ config(materialized='incremental', incremental_strategy='append') }}
SELECT card, ts, kind, amount, country
  FROM {{ ref('raw_payments') }}
{% if is_incremental() %} WHERE ts > (SELECT max(ts) FROM {{ this }}) {% endif %}
