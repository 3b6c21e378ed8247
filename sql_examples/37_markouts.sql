-- Markouts: the price of a share 0, 5 and 30 seconds after each trade.
--
-- Each trade meets each horizon, and an ASOF JOIN finds the last quote at or before that time. The quotes are sent and
-- ordered once, however many horizons there are. WITHIN leaves out quotes that are older than a minute.
--
-- expect:
-- id	after	price	gain
-- 1	0	99	0
-- 1	5	101	2
-- 1	30	97	-2
-- 2	0	101	0
-- 2	5	104	3
-- 2	30	97	-4

WITH trades(id, symbol, at) AS (
  VALUES
    (1, 'ACME', TIMESTAMP '2026-03-02 10:00:05'),
    (2, 'ACME', TIMESTAMP '2026-03-02 10:00:09')
),
quotes(symbol, at, price) AS (
  VALUES
    ('ACME', TIMESTAMP '2026-03-02 10:00:04', 99),
    ('ACME', TIMESTAMP '2026-03-02 10:00:08', 101),
    ('ACME', TIMESTAMP '2026-03-02 10:00:12', 104),
    ('ACME', TIMESTAMP '2026-03-02 10:00:25', 97)
),
horizons(after) AS (VALUES (0), (5), (30))
SELECT t.id, h.after, q.price, q.price - first_value(q.price) OVER (PARTITION BY t.id ORDER BY h.after) AS gain
FROM (trades t CROSS JOIN horizons h)
  LEFT ASOF JOIN quotes q
    MATCH_CONDITION (t.at + make_dt_interval(0, 0, 0, h.after) >= q.at) WITHIN INTERVAL 1 MINUTE
    ON q.symbol = t.symbol
ORDER BY t.id, h.after;
