-- Quotes around trades: for each trade the quotes of the second before it and after it, and the one that prevailed.
--
-- INTERVAL JOIN … AGGREGATE returns each trade once, with aggregates of the quotes in its range, and makes no pairs.
-- INCLUDING PREVAILING adds the last quote before the range, so that `first` is the price at its beginning, and a trade
-- without a quote in the range has a price, too. Trade 4 has none: nobody has quoted BETA before.
--
-- expect:
-- id	symbol	quotes	prevailed	mean	prices
-- 1	ACME	3	98	99.33	[98, 99, 101]
-- 2	ACME	2	101	102.0	[101, 103]
-- 3	ACME	1	103	103.0	[103]
-- 4	BETA	0	NULL	NULL	[]

WITH trades(id, symbol, at) AS (
  VALUES
    (1, 'ACME', TIMESTAMP '2026-03-02 10:00:05'),
    (2, 'ACME', TIMESTAMP '2026-03-02 10:00:09'),
    (3, 'ACME', TIMESTAMP '2026-03-02 10:00:20'),
    (4, 'BETA', TIMESTAMP '2026-03-02 10:00:05')
),
quotes(symbol, at, price) AS (
  VALUES
    ('ACME', TIMESTAMP '2026-03-02 10:00:01', 98),
    ('ACME', TIMESTAMP '2026-03-02 10:00:04', 99),
    ('ACME', TIMESTAMP '2026-03-02 10:00:06', 101),
    ('ACME', TIMESTAMP '2026-03-02 10:00:10', 103),
    ('BETA', TIMESTAMP '2026-03-02 10:00:18', 55)
)
SELECT t.id, t.symbol, quotes, prevailed, round(mean, 2) AS mean, prices
FROM trades t
  LEFT INTERVAL JOIN quotes q
    ON q.symbol = t.symbol AND q.at BETWEEN t.at - INTERVAL 1 SECOND AND t.at + INTERVAL 1 SECOND
    AGGREGATE (
      count(*) AS quotes, first(q.price) AS prevailed, avg(q.price) AS mean, collect_list(q.price) AS prices
    ) INCLUDING PREVAILING
ORDER BY t.id;
