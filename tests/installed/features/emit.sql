-- EMIT with early firings, in batch
WITH quotes AS (SELECT timestamp_seconds(60 * pos) AS ts, price FROM (SELECT posexplode(array(20, 18, 21)) AS (pos, price)))
SELECT unix_seconds(window_start), max(price), window_timing
FROM TUMBLE(TABLE quotes, DESCRIPTOR(ts), INTERVAL '2' MINUTES)
GROUP BY window_start, window_end EMIT EARLY EVERY INTERVAL '1' MINUTE;
-- 0  20  EARLY
-- 0  20  ON_TIME
-- 120  21  EARLY
-- 120  21  ON_TIME
