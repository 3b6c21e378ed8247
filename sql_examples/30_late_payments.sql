-- Payments of a day that arrive late: the table of daily totals corrects itself for a day after the day has ended.
--
-- UPSERT KEY keeps one row for each shop and day, the last firing of its window. A payment that arrives up to a day
-- behind the watermark makes its window fire again, and the row is replaced. What comes later still is counted, and with
-- SET sqlext.late_rows = name it becomes a row of that table.
--
-- expect:
-- shop	day	total	payments	window_timing
-- north	2026-03-01	45.00	3	LATE
-- north	2026-03-02	8.00	1	ON_TIME
-- south	2026-03-01	7.50	1	ON_TIME

CREATE TABLE example_payments AS
SELECT * FROM VALUES
    ('north', TIMESTAMP '2026-03-01 10:00:00', 20.00),
    ('south', TIMESTAMP '2026-03-01 12:00:00', 7.50),
    ('north', TIMESTAMP '2026-03-01 23:50:00', 15.00),
    ('north', TIMESTAMP '2026-03-02 09:00:00', 8.00)
  AS payment(shop, paid_at, amount);

CREATE STREAMING TABLE example_days UPSERT KEY (shop, day) OPTIONS ('trigger' = 'available-now') AS
SELECT shop, CAST(window_start AS DATE) AS day, sum(amount) AS total, count(*) AS payments, window_timing
FROM TUMBLE(
  TABLE STREAM example_payments WATERMARK paid_at DELAY OF INTERVAL 1 HOUR,
  DESCRIPTOR(paid_at),
  INTERVAL '1' DAY
)
GROUP BY shop, window_start, window_end
EMIT AFTER WATERMARK ALLOW LATENESS INTERVAL '1' DAY;

-- The terminal of the north shop was offline on the first of March, and one of the south shop for two days.
INSERT INTO example_payments VALUES
    ('north', TIMESTAMP '2026-03-01 18:00:00', 10.00),
    ('south', TIMESTAMP '2026-02-27 18:00:00', 99.00),
    ('south', TIMESTAMP '2026-03-03 07:00:00', 5.00);

REFRESH STREAMING TABLE example_days;

SELECT * FROM example_days ORDER BY shop, day;

DROP TABLE example_days;

DROP TABLE example_payments;
