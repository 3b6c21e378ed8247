-- EXPLAIN MATCH
EXPLAIN MATCH WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v)) SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY n MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS v > 0);
