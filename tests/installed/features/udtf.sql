-- refused before 4.1: SQLEXT_SPARK_VERSION
-- the engine that is a table function
SET sqlext.engine = udtf;
WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v))
SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY k ORDER BY n MEASURES FIRST(n) AS n PATTERN (a b+) DEFINE b AS v < AVG(a.v));
-- A  1
