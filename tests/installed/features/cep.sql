-- rows in between, and absence
WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v))
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY n MEASURES a.n AS low, b.n AS high PATTERN (a -> b) DEFINE a AS v < 18, b AS v > 20
);
-- A  3  5
