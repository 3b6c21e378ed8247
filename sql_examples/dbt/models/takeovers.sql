{{ config(materialized='streaming_table') }}
SELECT *
  FROM STREAM {{ ref('payments') }} WATERMARK ts DELAY OF INTERVAL 10 SECONDS
  MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY ts
    MEASURES MATCH_ROWTIME() AS at, COUNT(small.*) AS tests, LAST(amount) AS amount
    PATTERN (small{2,} big) WITHIN INTERVAL 10 MINUTES
    DEFINE small AS amount < 2, big AS amount > 500)
