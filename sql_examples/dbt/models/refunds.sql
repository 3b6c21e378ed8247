{{ config(materialized='pattern_rule', rules='card_rules') }}
FOR TABLE {{ ref('payments') }}
AS MATCH_RECOGNIZE (
  MEASURES r.amount AS amount
  PATTERN (p r) WITHIN INTERVAL 1 HOUR
  DEFINE p AS kind = 'purchase', r AS kind = 'refund')
