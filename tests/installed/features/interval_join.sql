-- INTERVAL JOIN
WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v))
SELECT l.n, count(*), sum(r.v) FROM trades l INTERVAL JOIN trades r ON l.k = r.k AND r.n BETWEEN l.n - 1 AND l.n
WHERE l.k = 'A' GROUP BY l.n;
-- 1  1  20
-- 2  2  38
-- 3  2  33
-- 4  2  32
-- 5  2  38
