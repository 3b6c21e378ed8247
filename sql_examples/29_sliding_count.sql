-- A sliding count window: on every second trade of a stock, the average and the range of its last four trades.
--
-- EVICT chooses among the rows that a firing sees, so every firing sees the last four, whatever the time between them.
--
-- expect:
-- symbol	at	average	lowest	highest	trades
-- ACME	09:30:04	11.0	10	12	2
-- ACME	09:31:20	12.5	10	15	4
-- ACME	09:45:00	14.5	12	18	4

WITH trades AS (
  SELECT * FROM VALUES
    ('ACME', TIMESTAMP '2026-03-02 09:30:00', 10), ('ACME', TIMESTAMP '2026-03-02 09:30:04', 12),
    ('ACME', TIMESTAMP '2026-03-02 09:31:00', 13), ('ACME', TIMESTAMP '2026-03-02 09:31:20', 15),
    ('ACME', TIMESTAMP '2026-03-02 09:40:00', 12), ('ACME', TIMESTAMP '2026-03-02 09:45:00', 18)
  AS trade(symbol, ts, price)
)
SELECT symbol, date_format(max(ts), 'HH:mm:ss') AS at, avg(price) AS average, min(price) AS lowest, max(price) AS highest,
  count(*) AS trades
FROM GLOBAL_WINDOW(TABLE trades)
GROUP BY symbol
HAVING window_timing = 'EARLY'
EMIT EVERY 2 ROWS EVICT KEEP LAST 4 ROWS
ORDER BY symbol, at;
