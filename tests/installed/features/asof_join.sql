-- ASOF JOIN, with MATCH_CONDITION and with the comparison in ON
WITH trades AS (SELECT * FROM VALUES ('A', 1, 20), ('A', 2, 18), ('A', 3, 15), ('A', 4, 17), ('A', 5, 21), ('B', 1, 30), ('B', 2, 31), ('B', 3, 32) AS t(k, n, v))
SELECT l.n, r.v, s.v FROM trades l
  ASOF JOIN trades r MATCH_CONDITION (l.n > r.n) ON l.k = r.k
  LEFT ASOF JOIN trades s ON l.k = s.k AND l.n < s.n
WHERE l.k = 'B';
-- 2  30  32
-- 3  31  NULL
