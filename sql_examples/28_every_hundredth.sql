-- An alert on every 100th event of a sensor: how long the last hundred took, and how many of them were errors.
--
-- A window that never ends fires on its rows 100, 200, … and with DISCARDING each firing sees the rows since the last
-- one. Spark's row number would give the same rows, but on a stream nothing would: this query runs there as it is. In
-- batch the window fires once more at the end of the input, which HAVING leaves out.
--
-- expect:
-- sensor	events	seconds	errors
-- door	100	297	5
-- door	200	297	4
-- gate	100	693	8

WITH readings AS (
  SELECT TIMESTAMP '2026-03-02 06:00:00' + id * INTERVAL '3' SECOND AS ts, 'door' AS sensor, id % 23 = 7 AS is_error
  FROM range(250)
  UNION ALL
  SELECT TIMESTAMP '2026-03-02 06:00:00' + id * INTERVAL '7' SECOND, 'gate', id % 13 = 5
  FROM range(130)
)
SELECT sensor, 100 * window_firing AS events, timestampdiff(SECOND, min(ts), max(ts)) AS seconds,
  count_if(is_error) AS errors
FROM GLOBAL_WINDOW(TABLE readings)
GROUP BY sensor
HAVING count(*) = 100
EMIT EVERY 100 ROWS DISCARDING
ORDER BY sensor, events;
