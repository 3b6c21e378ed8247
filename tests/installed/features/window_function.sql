-- a window function without EMIT
WITH quotes AS (SELECT timestamp_seconds(60 * pos) AS ts, price FROM (SELECT posexplode(array(20, 18, 21)) AS (pos, price)))
SELECT unix_seconds(window_start), sum(price) FROM HOP(TABLE quotes, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTES)
GROUP BY window_start, window_end;
-- -60  20
-- 0  38
-- 60  39
-- 120  21
