{{ config(materialized='table') }}
SELECT *
  FROM {{ ref('purchases') }}
  MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY ts
    MEASURES FIRST(ts) AS left_at, LAST(ts) AS seen_at, FIRST(country) AS country, LAST(country) AS next_country
    AFTER MATCH SKIP TO LAST there
    PATTERN (here there)
    DEFINE there AS country <> PREV(country))
