-- MATCH_RECOGNIZE with PREV, a chain of conditions on single rows
WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v))
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY n
  MEASURES FIRST(n) AS first_n, LAST(up.n) AS last_n, MIN(down.v) AS bottom
  PATTERN (strt down+ up+) DEFINE down AS v < PREV(v), up AS v > PREV(v)
);
-- A  1  5  15
