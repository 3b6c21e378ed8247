{{ config(materialized='streaming_table', unique_key='card') }}
SELECT *
  FROM STREAM {{ ref('payments') }} WATERMARK ts DELAY OF INTERVAL 10 SECONDS
  MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY ts
    MEASURES MATCH_ROWTIME() AS at, LAST(country) AS country
    AFTER MATCH SKIP TO LAST there
    PATTERN (here there) WITHIN INTERVAL 1 DAY
    DEFINE there AS country <> here.country)
