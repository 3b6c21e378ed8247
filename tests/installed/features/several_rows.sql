-- a condition over several rows, ALL ROWS PER MATCH
WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v))
SELECT k, n, v, label FROM trades MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY n MEASURES CLASSIFIER() AS label ALL ROWS PER MATCH
  PATTERN (a b+) DEFINE b AS v < AVG(a.v)
);
-- A  1  20  A
-- A  2  18  B
-- A  3  15  B
-- A  4  17  B
