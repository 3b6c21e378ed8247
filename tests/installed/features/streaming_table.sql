-- refused without Delta: SQLEXT_SESSION_WITHOUT_DELTA
-- refused before 4.1: SQLEXT_SPARK_VERSION
-- a streaming table with everything that has arrived
DROP TABLE IF EXISTS feature_quotes;
CREATE TABLE feature_quotes AS
SELECT timestamp_seconds(60 * pos) AS ts, price FROM (SELECT posexplode(array(20, 18, 21, 30, 1)) AS (pos, price));
CREATE OR REPLACE STREAMING TABLE feature_rises OPTIONS ('trigger' = 'available-now') AS
SELECT * FROM STREAM feature_quotes WATERMARK ts DELAY OF INTERVAL 1 SECOND MATCH_RECOGNIZE (
  ORDER BY ts MEASURES LAST(price) AS top PATTERN (a b) WITHIN INTERVAL 5 MINUTES DEFINE b AS price > PREV(price));
SELECT * FROM feature_rises;
-- 21
