-- tables in Parquet: CREATE TABLE AS and INSERT with clauses
DROP TABLE IF EXISTS feature_falls;
CREATE TABLE feature_falls USING parquet AS
WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v))
SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY k ORDER BY n MEASURES LAST(n) AS n PATTERN (a b) DEFINE b AS v < PREV(v));
INSERT INTO feature_falls SELECT 'B', n FROM feature_falls MATCH_RECOGNIZE (ORDER BY n MEASURES LAST(n) AS n PATTERN (a+) DEFINE a AS n > 0);
SELECT * FROM feature_falls;
-- A  2
-- B  2
