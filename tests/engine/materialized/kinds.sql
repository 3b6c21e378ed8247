-- Queries of materialized views over ev (k BIGINT, ts TIMESTAMP, v INT, c STRING) and px (k BIGINT, ts TIMESTAMP, p DOUBLE),
-- and over stored views of these (`VIEWS`), each after a line with its kind and its key, or "full".

-- matches: k
SELECT k, n, first_v FROM ev MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES count(*) AS n, FIRST(A.v) AS first_v PATTERN (A B+) DEFINE B AS v > PREV(v)) AS m WHERE n > 1
-- rows of matches: card
SELECT m.k AS card, ts, v, n, upper(c) AS c FROM (SELECT * FROM ev WHERE v IS NOT NULL) AS e MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B?) DEFINE A AS c = 'a', B AS v < A.v) AS m
-- windows with patterns: k
SELECT k, ts, rise OVER w AS rise FROM ev WINDOW w AS (PARTITION BY k ORDER BY ts, v, c
  MEASURES count(*) AS rise ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS v > PREV(v))
-- groups: k
SELECT k, count(*) AS n, sum(v) AS total, max(c) AS last_c FROM ev WHERE v > 2 GROUP BY k HAVING count(*) > 1
-- window functions: k
SELECT *, row_number() OVER (PARTITION BY k ORDER BY ts, v, c) AS number, max(v) OVER w AS highest FROM ev
  WINDOW w AS (PARTITION BY k)
-- firings: k
SELECT k, window_start, sum(v) AS total, window_firing FROM TUMBLE(TABLE ev, DESCRIPTOR(ts), INTERVAL 10 MINUTES)
  GROUP BY k, window_start, window_end EMIT EVERY 2 ROWS
-- windows: window_start
SELECT window_start, max(v) AS highest, window_end FROM TUMBLE(TABLE ev, DESCRIPTOR(ts), INTERVAL 5 MINUTES, INTERVAL 1 MINUTE)
  WHERE c <> 'b' GROUP BY window_start, window_end
-- sessions: k
SELECT k, window_start, window_end, count(*) AS n FROM SESSION(TABLE ev PARTITION BY k, DESCRIPTOR(ts), INTERVAL 2 MINUTES)
  GROUP BY k, window_start, window_end
-- nearest rows: k
SELECT ev.k, ev.ts, v, p FROM ev LEFT ASOF JOIN px MATCH_CONDITION (ev.ts >= px.ts) WITHIN INTERVAL 10 MINUTES ON ev.k = px.k
-- rows in a range: key
SELECT e.k AS key, e.ts, x.p FROM ev AS e INTERVAL JOIN px AS x
  ON e.k = x.k AND x.ts BETWEEN e.ts - INTERVAL 1 MINUTE AND e.ts + INTERVAL 1 MINUTE
-- joined: k
SELECT k, sum(v) AS total, max(p) AS highest FROM ev LEFT JOIN px USING (k) GROUP BY k
-- both: k
WITH all_rows AS (SELECT k, ts, v FROM ev UNION ALL SELECT k, ts, CAST(p > 1 AS INT) FROM px)
SELECT k, n FROM all_rows MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES count(*) AS n
  PATTERN (A B) DEFINE B AS v >= PREV(v))
-- distinct: k, c
SELECT DISTINCT k, c FROM ev
-- doubles: k
SELECT k, p * -0.0D AS zero, p FROM px
-- one pattern of all rows: full
SELECT n FROM ev MATCH_RECOGNIZE (ORDER BY ts, k, v, c MEASURES count(*) AS n PATTERN (A B) DEFINE B AS v > PREV(v))
-- the highest: full
SELECT k, ts, v, c FROM ev ORDER BY v DESC NULLS LAST, k, ts, c LIMIT 3
-- of stored views: card
SELECT r.card, r.rise, q.most FROM rises AS r LEFT JOIN quotes AS q ON r.card = q.card
