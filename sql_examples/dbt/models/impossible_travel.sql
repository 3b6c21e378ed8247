{{ config(materialized='pattern_rule', rules='card_rules') }}
FOR TABLE {{ ref('payments') }} COMMENT 'the card is in two countries within an hour'
AS MATCH_RECOGNIZE (
  MEASURES here.country AS here, there.country AS there
  PATTERN (here there) WITHIN INTERVAL 1 HOUR
  DEFINE there AS country <> here.country)
