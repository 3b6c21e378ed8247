-- a temporary view over a clause, and another clause over the view
CREATE OR REPLACE TEMPORARY VIEW falls AS
WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v))
SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY k ORDER BY n MEASURES LAST(n) AS n PATTERN (a b) DEFINE b AS v < PREV(v));
SELECT * FROM falls MATCH_RECOGNIZE (ORDER BY n MEASURES COUNT(*) AS falls PATTERN (a+) DEFINE a AS n > 0);
-- 1
