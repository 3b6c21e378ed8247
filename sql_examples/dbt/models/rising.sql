{{ config(materialized='view') }}
SELECT *
  FROM {{ ref('payments') }}
  MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY ts
    MEASURES MATCH_NUMBER() AS rise, FIRST(ts) AS since, COUNT(*) AS payments, LAST(amount) AS top
    PATTERN (first higher{2,})
    DEFINE higher AS amount > PREV(amount))
