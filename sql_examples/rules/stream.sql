-- Terminal 1 of docs/rules.md: a stream that follows the rules of a table. It runs until you press Ctrl-C.

CREATE TABLE IF NOT EXISTS card_payments (card STRING, ts TIMESTAMP, kind STRING, amount DOUBLE);

CREATE PATTERN RULE IF NOT EXISTS card_testing ON card_rules FOR TABLE card_payments
AS MATCH_RECOGNIZE (
  MEASURES big.amount AS amount
  PATTERN (small{2,} big) WITHIN INTERVAL 10 MINUTES
  DEFINE
    small AS amount < 2,
    big   AS amount > 500
);

CREATE STREAMING TABLE card_alerts AS
SELECT *
  FROM STREAM card_payments WATERMARK ts DELAY OF INTERVAL 10 SECONDS
  MATCH_RULES (PARTITION BY card ORDER BY ts RULES card_rules) AS m;
