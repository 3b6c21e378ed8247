-- What users of Databricks write: its SQL reference around these clauses, and MATCH_RECOGNIZE, which it does not have, in its statements.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW readings AS
SELECT * FROM VALUES ('d1', TIMESTAMP '2026-07-01 00:00:00', 20), ('d1', TIMESTAMP '2026-07-01 00:05:00', 22), ('d1', TIMESTAMP '2026-07-01 00:10:00', 27),
  ('d1', TIMESTAMP '2026-07-01 00:40:00', 21), ('d2', TIMESTAMP '2026-07-01 00:00:00', 30), ('d2', TIMESTAMP '2026-07-01 00:20:00', 29),
  ('d2', TIMESTAMP '2026-07-01 00:21:00', 33) AS readings(device, ts, temp);
CREATE OR REPLACE TEMPORARY VIEW impressions AS
SELECT * FROM VALUES (1, TIMESTAMP '2026-07-01 10:00:00'), (2, TIMESTAMP '2026-07-01 10:10:00'), (3, TIMESTAMP '2026-07-01 10:20:00')
  AS impressions(ad, shown_at);
CREATE OR REPLACE TEMPORARY VIEW clicks AS
SELECT * FROM VALUES (1, TIMESTAMP '2026-07-01 10:05:00'), (1, TIMESTAMP '2026-07-01 12:00:00'), (3, TIMESTAMP '2026-07-01 10:20:30')
  AS clicks(ad, clicked_at);

-- == casts by colons
SELECT device, day, rise
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES FIRST(ts)::date AS day, (LAST(temp) - FIRST(temp))::double AS rise
  PATTERN (a up+)
  DEFINE up AS temp::double > PREV(temp)::double
);
-- rows device:string,day:date,rise:double
-- d1, 2026-07-01, 7.0
-- d2, 2026-07-01, 4.0

-- == a ratio of two rows
SELECT device, low, high
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES a.temp AS low, b.temp AS high
  PATTERN (a x* b)
  DEFINE x AS temp >= a.temp, b AS b.temp::double / a.temp > 1.2
);
-- rows device:string,low:int,high:int
-- d1, 20, 27

-- == percent of a decimal
SELECT device, n
FROM (SELECT device, ts, temp::decimal(18,2) AS temp FROM readings) MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (a b+)
  DEFINE b AS b.temp >= 1.05 * a.temp
);
-- rows device:string,n:bigint
-- d1, 4
-- d2, 2

-- == minutes between two rows
SELECT device, gap
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES timestampdiff(MINUTE, a.ts, b.ts) AS gap
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (a b)
  DEFINE b AS timestampdiff(MINUTE, a.ts, b.ts) >= 20
);
-- rows device:string,gap:bigint
-- d1, 30
-- d2, 20

-- == date_diff and datediff
SELECT device, n
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (a b*)
  DEFINE b AS datediff(b.ts, a.ts) = 0 AND date_diff(MINUTE, FIRST(a.ts), b.ts) < 15
);
-- rows device:string,n:bigint
-- d1, 1
-- d1, 3
-- d2, 1
-- d2, 2

-- == LIKE, try_cast, IS DISTINCT FROM over several rows
SELECT device, label
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES concat_ws('-', FIRST(device), CAST(LAST(temp) AS STRING)) AS label
  PATTERN (a b)
  DEFINE b AS concat(a.device, b.temp) LIKE 'd1%' AND try_cast(b.temp AS INT) IS DISTINCT FROM a.temp
);
-- rows device:string,label:string
-- d1, d1-21
-- d1, d1-22

-- == FILTER in MEASURES
SELECT device, hot, n
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) FILTER (WHERE temp > 25) AS hot, count_if(temp <= 25) AS n
  PATTERN (a+)
  DEFINE a AS true
);
-- rows device:string,hot:bigint,n:bigint
-- d1, 1, 3
-- d2, 3, 0

-- == ordered arrays in MEASURES
SELECT device, temps
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES array_agg(temp ORDER BY temp DESC) AS temps
  PATTERN (a+)
  DEFINE a AS true
);
-- rows device:string,temps:array<int>
-- d1, [27, 22, 21, 20]
-- d2, [33, 30, 29]

-- == statistics of a match
SELECT device, round(s, 3) AS s, med
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES stddev(temp) AS s, median(temp) AS med
  PATTERN (a+)
  DEFINE a AS true
);
-- rows device:string,s:double,med:double
-- d1, 3.109, 21.5
-- d2, 2.082, 30.0

-- == statistics in a condition
SELECT device, n
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (a+ hot)
  DEFINE hot AS hot.temp > avg(a.temp) + stddev_pop(a.temp)
);
-- rows device:string,n:bigint
-- d1, 3
-- d2, 3

-- == a range join
SELECT i.ad, count(clicked_at) AS n
FROM impressions i LEFT JOIN clicks c
  ON i.ad = c.ad AND c.clicked_at >= i.shown_at AND c.clicked_at <= i.shown_at + INTERVAL 1 HOUR
GROUP BY i.ad;
-- rows ad:int,n:bigint
-- 1, 1
-- 2, 0
-- 3, 1

-- == a hint of a range join
SELECT /*+ RANGE_JOIN(r, 600) */ i.ad, c.clicked_at
FROM impressions i JOIN clicks c
  ON i.ad = c.ad AND c.clicked_at BETWEEN i.shown_at AND i.shown_at + INTERVAL 10 MINUTES;
-- rows ad:int,clicked_at:timestamp
-- 1, 2026-07-01 10:05:00
-- 3, 2026-07-01 10:20:30

-- == a window of time
SELECT device, window.start AS from_ts, max(temp) AS top
FROM readings
GROUP BY device, window(ts, '10 minutes');
-- rows device:string,from_ts:timestamp,top:int
-- d1, 2026-07-01 00:00:00, 22
-- d1, 2026-07-01 00:10:00, 27
-- d1, 2026-07-01 00:40:00, 21
-- d2, 2026-07-01 00:00:00, 30
-- d2, 2026-07-01 00:20:00, 33

-- == a session window
SELECT device, session_window.start AS from_ts, count(*) AS n
FROM readings
GROUP BY device, session_window(ts, '10 minutes');
-- rows device:string,from_ts:timestamp,n:bigint
-- d1, 2026-07-01 00:00:00, 3
-- d1, 2026-07-01 00:40:00, 1
-- d2, 2026-07-01 00:00:00, 1
-- d2, 2026-07-01 00:20:00, 2

-- == pipes behind the clause
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (a up+)
  DEFINE up AS temp > PREV(temp)
)
|> WHERE n > 2
|> SELECT device;
-- rows device:string
-- d1

-- == a pipe before the clause
FROM readings |> WHERE temp < 30 |> MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (a up+)
  DEFINE up AS temp > PREV(temp)
);
-- error
-- SQLEXT_CLAUSE_AFTER_PIPE: MATCH_RECOGNIZE cannot follow |>, it belongs to a relation
--   1 | FROM readings |> WHERE temp < 30 |> MATCH_RECOGNIZE (
--     |                                     ^^^^^^^^^^^^^^^
-- Hint: write FROM (FROM readings |> WHERE temp < 30) MATCH_RECOGNIZE (…).
-- write
SELECT * FROM (FROM readings |> WHERE temp < 30) MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (a up+)
  DEFINE up AS temp > PREV(temp)
);
-- rows device:string,n:bigint
-- d1, 3

-- == QUALIFY behind the clause
SELECT device, n
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n, FIRST(ts) AS t
  PATTERN (a up+)
  DEFINE up AS temp > PREV(temp)
)
QUALIFY row_number() OVER (PARTITION BY device ORDER BY n DESC) = 1;
-- rows device:string,n:bigint
-- d1, 3
-- d2, 2

-- == a clause over a join
SELECT ad, n
FROM (impressions i JOIN clicks c USING (ad)) MATCH_RECOGNIZE (
  PARTITION BY ad ORDER BY clicked_at
  MEASURES COUNT(*) AS n
  PATTERN (a+)
  DEFINE a AS clicked_at > shown_at
);
-- rows ad:int,n:bigint
-- 1, 2
-- 3, 1

-- == LATERAL VIEW before the clause
SELECT device, n
FROM readings LATERAL VIEW explode(array(1, 2)) AS k MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts, k
  MEASURES COUNT(*) AS n
  PATTERN (a+)
  DEFINE a AS true
);
-- error
-- SQLEXT_MISPLACED_CLAUSE: MATCH_RECOGNIZE must directly follow the relation that it reads
--   2 | FROM readings LATERAL VIEW explode(array(1, 2)) AS k MATCH_RECOGNIZE (
--     |                                                      ^^^^^^^^^^^^^^^
-- Hint: write FROM (SELECT * FROM readings LATERAL VIEW explode(array(1, 2)) AS k) MATCH_RECOGNIZE (…).
-- write
SELECT device, n
FROM (SELECT * FROM readings LATERAL VIEW explode(array(1, 2)) AS k) MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts, k
  MEASURES COUNT(*) AS n
  PATTERN (a+)
  DEFINE a AS true
);
-- rows device:string,n:bigint
-- d1, 8
-- d2, 6

-- == columns but some
SELECT * EXCEPT (t)
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n, FIRST(ts) AS t
  PATTERN (a b)
  DEFINE b AS temp > a.temp
);
-- rows device:string,n:bigint
-- d1, 2
-- d2, 2

-- == GROUP BY ALL behind the clause
SELECT device, sum(n) AS total
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (a b*)
  DEFINE b AS temp > PREV(temp)
)
GROUP BY ALL;
-- rows device:string,total:bigint
-- d1, 4
-- d2, 3

-- == a user's own function of two rows
CREATE OR REPLACE TEMPORARY FUNCTION grew(x INT, y INT) RETURNS BOOLEAN RETURN y > x + 1;
SELECT device, n
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (a b)
  DEFINE b AS grew(a.temp, b.temp)
);
-- error
-- SQLEXT_FUNCTION_OVER_SEVERAL_ROWS: grew() cannot be computed over several rows
--   6 |   DEFINE b AS grew(a.temp, b.temp)
--     |               ^^^^^^^^^^^^^^^^^^^^
-- Hint: over several rows there are operators, CASE, CAST and the functions of docs/functions.md; or compute it in the navigation where one row decides it.
-- write
SELECT device, n
FROM readings MATCH_RECOGNIZE (
  PARTITION BY device ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (a b)
  DEFINE b AS b.temp > a.temp + 1
);
-- rows device:string,n:bigint
-- d1, 2
-- d2, 2

-- == an ASOF join
SELECT i.ad, c.clicked_at
FROM clicks c LEFT ASOF JOIN impressions i
  MATCH_CONDITION (c.clicked_at >= i.shown_at) ON c.ad = i.ad;
-- rows ad:int,clicked_at:timestamp
-- 1, 2026-07-01 10:05:00
-- 1, 2026-07-01 12:00:00
-- 3, 2026-07-01 10:20:30

-- == a lateral join
SELECT a.ad, c.n FROM impressions a, LATERAL (SELECT count(*) AS n FROM clicks c WHERE c.ad = a.ad AND c.clicked_at >= a.shown_at) c;
-- rows ad:int,n:bigint
-- 1, 2
-- 2, 0
-- 3, 1

-- == a named parameter of a window
SELECT device, window.start AS s, max(temp) AS m FROM readings GROUP BY device, window(ts, '10 minutes', '5 minutes') HAVING m > 30;
-- rows device:string,s:timestamp,m:int
-- d2, 2026-07-01 00:15:00, 33
-- d2, 2026-07-01 00:20:00, 33
