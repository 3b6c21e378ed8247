-- A dashboard: the sales of each hour as a running total every minute, and its correction when late sales arrive.
--
-- Each row of the result is a firing of an hour's window. EARLY rows come at full minutes if there is something new,
-- ON_TIME closes the hour, and LATE corrects it: the sale of 09:58:30 arrives behind the watermark, within the two
-- hours that ALLOW LATENESS gives. A dashboard shows the row with the highest window_firing of each hour.
--
-- expect:
-- hour	total	sales	window_firing	window_timing	as_of
-- 09:00	12.50	1	1	EARLY	09:56:59
-- 09:00	32.50	3	2	EARLY	09:58:59
-- 09:00	32.50	3	3	ON_TIME	09:59:59
-- 10:00	7.00	1	1	EARLY	10:00:59
-- 09:00	37.25	4	4	LATE	10:05:20
-- 10:00	19.00	2	2	EARLY	10:05:59

CREATE TABLE example_sales AS
SELECT * FROM VALUES
    (TIMESTAMP '2026-03-02 09:56:10', 12.50),
    (TIMESTAMP '2026-03-02 09:58:10', 15.00),
    (TIMESTAMP '2026-03-02 09:58:50', 5.00),
    (TIMESTAMP '2026-03-02 10:00:05', 7.00),
    (TIMESTAMP '2026-03-02 10:05:20', 12.00)
  AS sale(ts, amount);

CREATE OR REFRESH STREAMING TABLE example_dashboard OPTIONS ('trigger' = 'available-now') AS
SELECT date_format(window_start, 'HH:mm') AS hour, sum(amount) AS total, count(*) AS sales, window_firing,
  window_timing, window_rowtime
FROM TUMBLE(TABLE STREAM example_sales WATERMARK ts DELAY OF INTERVAL 0 SECONDS, DESCRIPTOR(ts), INTERVAL '1' HOUR)
GROUP BY window_start, window_end
EMIT EARLY EVERY INTERVAL '1' MINUTE ALLOW LATENESS INTERVAL '2' HOURS;

INSERT INTO example_sales VALUES
    (TIMESTAMP '2026-03-02 09:58:30', 4.75),
    (TIMESTAMP '2026-03-02 10:06:40', 1.00);

REFRESH STREAMING TABLE example_dashboard;

SELECT hour, total, sales, window_firing, window_timing, date_format(window_rowtime, 'HH:mm:ss') AS as_of
FROM example_dashboard
ORDER BY window_rowtime;

DROP TABLE example_dashboard;

DROP TABLE example_sales;
