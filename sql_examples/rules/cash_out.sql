-- Terminal 2 of docs/rules.md: a further rule for the stream of terminal 1.

CREATE OR REPLACE PATTERN RULE cash_out ON card_rules
COMMENT 'two large withdrawals, whatever is in between'
AS MATCH_RECOGNIZE (
  MEASURES SUM(amount) AS cash
  PATTERN (large -> large) WITHIN INTERVAL 1 DAY
  DEFINE large AS kind = 'cash' AND amount >= 500
);
