-- depends_on: {{ ref('impossible_travel') }}, {{ ref('refunds') }}
{{ config(materialized='streaming_table') }}
SELECT rule_name, rule_version, card, last_time, measures
  FROM STREAM {{ ref('payments') }} WATERMARK ts DELAY OF INTERVAL 10 SECONDS
  MATCH_RULES (PARTITION BY card ORDER BY ts RULES {{ schema }}.card_rules) AS m
