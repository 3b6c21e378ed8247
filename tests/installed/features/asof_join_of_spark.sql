-- ASOF JOIN is ours where Spark has one of its own: of the nearest rows it takes the smallest
SET spark.sql.join.asofJoin.enabled = true;
CREATE OR REPLACE TEMPORARY VIEW nearest AS
SELECT r.v FROM VALUES (1, 5) AS l(k, t) ASOF JOIN VALUES (1, 3, 10), (1, 3, 20) AS r(k, t, v)
  MATCH_CONDITION (l.t >= r.t) ON l.k = r.k;
RESET spark.sql.join.asofJoin.enabled;
SELECT * FROM nearest;
-- 10
