{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='day') }}
SELECT card, payments, day
  FROM (SELECT *, date(ts) AS day FROM {{ ref('payments') }})
  MATCH_RECOGNIZE (
    PARTITION BY card, day
    ORDER BY ts
    MEASURES COUNT(*) AS payments
    PATTERN (first higher+)
    DEFINE higher AS amount > PREV(amount))
