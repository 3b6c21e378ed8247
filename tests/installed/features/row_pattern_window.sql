-- a row pattern in a window
WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v))
SELECT n, count(*) OVER w AS rows FROM trades WHERE k = 'A'
WINDOW w AS (ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (a b*) DEFINE b AS v < PREV(v));
-- 1  3
-- 2  0
-- 3  0
-- 4  1
-- 5  1
