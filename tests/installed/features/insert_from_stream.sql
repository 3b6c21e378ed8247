-- refused without Delta: SQLEXT_SESSION_WITHOUT_DELTA
-- refused before 4.1: SQLEXT_SPARK_VERSION
-- INSERT from a stream
DROP TABLE IF EXISTS feature_ticks;
CREATE TABLE feature_ticks AS
SELECT timestamp_seconds(60 * pos) AS ts, price FROM (SELECT posexplode(array(20, 18, 21, 30, 1)) AS (pos, price));
DROP TABLE IF EXISTS feature_tops;
CREATE TABLE feature_tops (top INT);
INSERT INTO feature_tops
SELECT * FROM STREAM feature_ticks WATERMARK ts DELAY OF INTERVAL 1 SECOND MATCH_RECOGNIZE (
  ORDER BY ts MEASURES LAST(price) AS top PATTERN (a b) WITHIN INTERVAL 5 MINUTES DEFINE b AS price > PREV(price));
STOP STREAMING TABLE feature_tops;
