-- refused without Delta: SQLEXT_SESSION_WITHOUT_DELTA
-- pattern rules in batch
DROP TABLE IF EXISTS feature_payments;
CREATE TABLE feature_payments AS
SELECT 'x' AS card, timestamp_seconds(100000 + 60 * pos) AS ts, amount FROM (SELECT posexplode(array(1, 1, 900)) AS (pos, amount));
DROP TABLE IF EXISTS feature_rules;
CREATE PATTERN RULE testing ON feature_rules FOR TABLE feature_payments EFFECTIVE FROM TIMESTAMP '1970-01-01 00:00:00'
AS MATCH_RECOGNIZE (MEASURES COUNT(small.*) AS tests PATTERN (small{2,} big) WITHIN INTERVAL 10 MINUTES
  DEFINE small AS amount < 2, big AS amount > 500);
SELECT rule_name FROM feature_payments MATCH_RULES (PARTITION BY card ORDER BY ts RULES feature_rules) AS m;
-- testing
