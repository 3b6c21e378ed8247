-- What users of Azure Stream Analytics write: its documentation of MATCH_RECOGNIZE, LAG, LAST and windows, and its common
-- query patterns (learn.microsoft.com/stream-analytics-query, stream-analytics-stream-analytics-query-patterns).

-- == relations
CREATE OR REPLACE TEMPORARY VIEW cars AS
SELECT * FROM VALUES (1, 'Toyota', 'T1', TIMESTAMP '2026-01-01 00:00:01', '1000'), (1, 'Toyota', 'T2', TIMESTAMP '2026-01-01 00:00:02', '2000'),
  (1, 'Ford', 'F1', TIMESTAMP '2026-01-01 00:00:03', '3000'), (1, 'Lexus', 'L1', TIMESTAMP '2026-01-01 00:00:04', '2500'),
  (2, 'Toyota', 'T3', TIMESTAMP '2026-01-01 00:00:05', '1500'), (2, 'Lexus', 'A9', TIMESTAMP '2026-01-01 00:02:05', '1700'),
  (1, 'Ford', 'F2', TIMESTAMP '2026-01-01 00:00:13', 'heavy') AS cars(booth, make, plate, time, weight);
CREATE OR REPLACE TEMPORARY VIEW features AS
SELECT * FROM VALUES ('u', 'menu', 'start', TIMESTAMP '2026-01-01 00:00:01'), ('u', 'menu', 'start', TIMESTAMP '2026-01-01 00:00:03'),
  ('u', 'menu', 'end', TIMESTAMP '2026-01-01 00:00:08'), ('v', 'menu', 'end', TIMESTAMP '2026-01-01 00:00:09') AS features(user, feature, event, time);
CREATE OR REPLACE TEMPORARY VIEW orders AS
SELECT 1 AS id, array('x', 'y') AS items;

-- == the basic structure of a clause
SELECT *
FROM cars MATCH_RECOGNIZE (
  LIMIT DURATION (minute, 1)
  PARTITION BY booth
  MEASURES
    Last(Toyota.plate) AS toyota,
    Last(Lexus.plate) AS lexus
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (Toyota+ Ford* Lexus+)
  DEFINE
    Toyota AS Toyota.make = 'Toyota',
    Ford AS Ford.make = 'Ford',
    Lexus AS Lexus.make = 'Lexus'
) AS T;
-- error
-- SQLEXT_UNEXPECTED_WORD: LIMIT DURATION is not allowed inside MATCH_RECOGNIZE
--   3 |   LIMIT DURATION (minute, 1)
--     |   ^^^^^^^^^^^^^^
-- Hint: write ORDER BY ts, and PATTERN (A B) WITHIN INTERVAL '1' MINUTE.
-- write
SELECT *
FROM cars MATCH_RECOGNIZE (
  PARTITION BY booth
  ORDER BY time
  MEASURES
    Last(Toyota.plate) AS toyota,
    Last(Lexus.plate) AS lexus
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (Toyota+ Ford* Lexus+) WITHIN INTERVAL '1' MINUTE
  DEFINE
    Toyota AS Toyota.make = 'Toyota',
    Ford AS Ford.make = 'Ford',
    Lexus AS Lexus.make = 'Lexus'
) AS T;
-- rows booth:int,toyota:string,lexus:string
-- 1, T2, L1
-- 1, T2, L1

-- == the time of the events
SELECT booth, n
FROM cars TIMESTAMP BY time MATCH_RECOGNIZE (
  PARTITION BY booth ORDER BY time MEASURES COUNT(*) AS n PATTERN (T+) DEFINE T AS make = 'Toyota'
) AS m;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'BY'.
--   2 | FROM cars TIMESTAMP BY time MATCH_RECOGNIZE (
--     |                     ^^
-- Hint: write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 5 SECONDS, and ORDER BY ts in the clause.
-- write
SELECT booth, n
FROM cars MATCH_RECOGNIZE (
  PARTITION BY booth ORDER BY time MEASURES COUNT(*) AS n PATTERN (T+) DEFINE T AS make = 'Toyota'
) AS m;
-- rows booth:int,n:bigint
-- 1, 2
-- 2, 1

-- == any row in a pattern
SELECT *
FROM cars MATCH_RECOGNIZE (
  PARTITION BY booth ORDER BY time MEASURES First(T.plate) AS a, L.plate AS b
  PATTERN (T .* L) DEFINE T AS make = 'Toyota', L AS make = 'Lexus'
);
-- error
-- SQLEXT_UNEXPECTED_IN_PATTERN: . is not expected here in PATTERN
--   4 |   PATTERN (T .* L) DEFINE T AS make = 'Toyota', L AS make = 'Lexus'
--     |              ^
-- Hint: a variable without a condition is true for any row: PATTERN (A any* B).
-- write
SELECT *
FROM cars MATCH_RECOGNIZE (
  PARTITION BY booth ORDER BY time MEASURES First(T.plate) AS a, L.plate AS b
  PATTERN (T any* L) DEFINE T AS make = 'Toyota', L AS make = 'Lexus'
);
-- rows booth:int,a:string,b:string
-- 1, T1, L1
-- 2, T3, A9

-- == a tumbling window
SELECT make, SUM(TRY_CAST(weight AS BIGINT)) AS weight FROM cars GROUP BY make, TumblingWindow(second, 10);
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function TumblingWindow
--   1 | SELECT make, SUM(TRY_CAST(weight AS BIGINT)) AS weight FROM cars GROUP BY make, TumblingWindow(second, 10)
--     |                                                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT make, SUM(TRY_CAST(weight AS BIGINT)) AS weight
FROM TUMBLE(TABLE cars, DESCRIPTOR(time), INTERVAL 10 SECONDS) GROUP BY make, window_start, window_end;
-- rows make:string,weight:bigint
-- Ford, 3000
-- Ford, null
-- Lexus, 1700
-- Lexus, 2500
-- Toyota, 4500

-- == a hopping window
SELECT booth, COUNT(*) AS n FROM cars GROUP BY booth, HoppingWindow(second, 10, 5);
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function HoppingWindow
--   1 | SELECT booth, COUNT(*) AS n FROM cars GROUP BY booth, HoppingWindow(second, 10, 5)
--     |                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL 30 MINUTES, INTERVAL 1 HOUR) GROUP BY window_start.
-- write
SELECT booth, window_end, COUNT(*) AS n
FROM HOP(TABLE cars, DESCRIPTOR(time), INTERVAL 5 SECONDS, INTERVAL 10 SECONDS) GROUP BY booth, window_start, window_end;
-- rows booth:int,window_end:timestamp,n:bigint
-- 1, 2026-01-01 00:00:05, 4
-- 1, 2026-01-01 00:00:10, 4
-- 1, 2026-01-01 00:00:15, 1
-- 1, 2026-01-01 00:00:20, 1
-- 2, 2026-01-01 00:00:10, 1
-- 2, 2026-01-01 00:00:15, 1
-- 2, 2026-01-01 00:02:10, 1
-- 2, 2026-01-01 00:02:15, 1

-- == a session window
SELECT booth, COUNT(*) AS n FROM cars GROUP BY booth, SessionWindow(second, 5, 60);
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function SessionWindow
--   1 | SELECT booth, COUNT(*) AS n FROM cars GROUP BY booth, SessionWindow(second, 5, 60)
--     |                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL 30 MINUTES) GROUP BY k, window_start, window_end.
-- write
SELECT booth, COUNT(*) AS n
FROM SESSION(TABLE cars PARTITION BY booth, DESCRIPTOR(time), INTERVAL 5 SECONDS) GROUP BY booth, window_start, window_end;
-- rows booth:int,n:bigint
-- 1, 1
-- 1, 4
-- 2, 1
-- 2, 1

-- == a sliding window
SELECT booth, COUNT(*) AS n FROM cars GROUP BY booth, SlidingWindow(second, 2) HAVING COUNT(*) >= 3;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function SlidingWindow
--   1 | SELECT booth, COUNT(*) AS n FROM cars GROUP BY booth, SlidingWindow(second, 2) HAVING COUNT(*) >= 3
--     |                                                       ^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write avg(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW).
-- write
SELECT booth, time, n
FROM (SELECT booth, time, COUNT(*) OVER (PARTITION BY booth ORDER BY time RANGE BETWEEN INTERVAL 2 SECONDS PRECEDING AND CURRENT ROW) AS n FROM cars)
WHERE n >= 3;
-- rows booth:int,time:timestamp,n:bigint
-- 1, 2026-01-01 00:00:03, 3
-- 1, 2026-01-01 00:00:04, 3

-- == the event before
SELECT make, time FROM cars WHERE LAG(make, 1) OVER (LIMIT DURATION(minute, 1)) <> make;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'OVER'.
--   1 | SELECT make, time FROM cars WHERE LAG(make, 1) OVER (LIMIT DURATION(minute, 1)) <> make
--     |                                                ^^^^
-- Hint: write lag(x) OVER (PARTITION BY k ORDER BY ts), and for LAST(x) … WHEN condition FROM a LEFT ASOF JOIN (SELECT * FROM b WHERE condition) b MATCH_CONDITION (a.ts >= b.ts) WITHIN INTERVAL 1 HOUR.
-- write
SELECT make, time FROM cars MATCH_RECOGNIZE (
  ORDER BY time MEASURES B.make AS make, B.time AS time
  AFTER MATCH SKIP TO LAST B PATTERN (A B) WITHIN INCLUSIVE INTERVAL 1 MINUTE DEFINE B AS make <> PREV(make)
);
-- rows make:string,time:timestamp
-- Ford, 2026-01-01 00:00:03
-- Ford, 2026-01-01 00:00:13
-- Lexus, 2026-01-01 00:00:04
-- Toyota, 2026-01-01 00:00:05

-- == the duration between two events
SELECT user, feature,
  DATEDIFF(second, LAST(time) OVER (PARTITION BY user, feature LIMIT DURATION(hour, 1) WHEN event = 'start'), time) AS duration
FROM features WHERE event = 'end';
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'LIMIT'.
--   2 |   DATEDIFF(second, LAST(time) OVER (PARTITION BY user, feature LIMIT DURATION(hour, 1) WHEN event = 'start'), time) AS duration
--     |                                                                ^^^^^
-- Hint: write lag(x) OVER (PARTITION BY k ORDER BY ts), and for LAST(x) … WHEN condition FROM a LEFT ASOF JOIN (SELECT * FROM b WHERE condition) b MATCH_CONDITION (a.ts >= b.ts) WITHIN INTERVAL 1 HOUR.
-- write
SELECT e.user, e.feature, timestampdiff(SECOND, s.time, e.time) AS duration
FROM (SELECT * FROM features WHERE event = 'end') e
LEFT ASOF JOIN (SELECT * FROM features WHERE event = 'start') s
  MATCH_CONDITION (e.time >= s.time) WITHIN INTERVAL 1 HOUR ON e.user = s.user AND e.feature = s.feature;
-- rows user:string,feature:string,duration:bigint
-- u, menu, 5
-- v, menu, null

-- == the first event of each interval
SELECT plate, make FROM cars WHERE IsFirst(minute, 1) = 1;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function IsFirst
--   1 | SELECT plate, make FROM cars WHERE IsFirst(minute, 1) = 1
--     |                                    ^^^^^^^^^^^^^^^^^^
-- Hint: write QUALIFY row_number() OVER (PARTITION BY date_trunc('HOUR', ts) ORDER BY ts) = 1.
-- write
SELECT plate, make FROM cars QUALIFY row_number() OVER (PARTITION BY date_trunc('MINUTE', time) ORDER BY time) = 1;
-- rows plate:string,make:string
-- A9, Lexus
-- T1, Toyota

-- == the first event of each make in each interval
SELECT plate, make FROM cars WHERE IsFirst(minute, 1) OVER (PARTITION BY make) = 1;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function IsFirst
--   1 | SELECT plate, make FROM cars WHERE IsFirst(minute, 1) OVER (PARTITION BY make) = 1
--     |                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write QUALIFY row_number() OVER (PARTITION BY date_trunc('HOUR', ts) ORDER BY ts) = 1.
-- write
SELECT plate, make FROM cars QUALIFY row_number() OVER (PARTITION BY make, date_trunc('MINUTE', time) ORDER BY time) = 1;
-- rows plate:string,make:string
-- A9, Lexus
-- F1, Ford
-- L1, Lexus
-- T1, Toyota

-- == a join of two streams
SELECT a.plate AS first, b.plate AS second
FROM cars a JOIN cars b ON a.make = b.make AND DATEDIFF(second, a, b) BETWEEN 1 AND 90;
-- error
-- SQLEXT_UNRESOLVED_COLUMN_WITH_SUGGESTION: A column, variable, or function parameter with name `a` cannot be resolved. Did you mean one of the following? [`a`.`make`, `b`.`make`, `a`.`time`, `a`.`booth`, `a`.`plate`].
--   2 | FROM cars a JOIN cars b ON a.make = b.make AND DATEDIFF(second, a, b) BETWEEN 1 AND 90
--     |                                                                 ^
-- Hint: write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts.
-- write
SELECT a.plate AS first, b.plate AS second
FROM cars a INTERVAL JOIN cars b ON a.make = b.make AND b.time BETWEEN a.time + INTERVAL 1 SECOND AND a.time + INTERVAL 90 SECONDS;
-- rows first:string,second:string
-- F1, F2
-- T1, T2
-- T1, T3
-- T2, T3

-- == TopOne
SELECT booth, TopOne() OVER (ORDER BY time DESC) AS last FROM cars GROUP BY booth, TumblingWindow(second, 10);
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function TumblingWindow
--   1 | SELECT booth, TopOne() OVER (ORDER BY time DESC) AS last FROM cars GROUP BY booth, TumblingWindow(second, 10)
--     |                                                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT booth, max_by(plate, time) AS last
FROM TUMBLE(TABLE cars, DESCRIPTOR(time), INTERVAL 10 SECONDS) GROUP BY booth, window_start, window_end;
-- rows booth:int,last:string
-- 1, F2
-- 1, L1
-- 2, A9
-- 2, T3

-- == the end of the window
SELECT System.Timestamp() AS at, COUNT(DISTINCT make) AS makes FROM cars GROUP BY TumblingWindow(second, 10);
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function TumblingWindow
--   1 | SELECT System.Timestamp() AS at, COUNT(DISTINCT make) AS makes FROM cars GROUP BY TumblingWindow(second, 10)
--     |                                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT window_end AS at, COUNT(DISTINCT make) AS makes
FROM TUMBLE(TABLE cars, DESCRIPTOR(time), INTERVAL 10 SECONDS) GROUP BY window_start, window_end;
-- rows at:timestamp,makes:bigint
-- 2026-01-01 00:00:10, 3
-- 2026-01-01 00:00:20, 1
-- 2026-01-01 00:02:10, 1

-- == an output
SELECT * INTO archive FROM cars;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'archive'.
--   1 | SELECT * INTO archive FROM cars
--     |               ^^^^^^^
-- Hint: write INSERT INTO t SELECT …, or CREATE STREAMING TABLE t AS SELECT ….
-- write
CREATE OR REPLACE TEMPORARY VIEW archive AS SELECT * FROM cars;
SELECT COUNT(*) AS n FROM archive;
-- rows n:bigint
-- 7

-- == names in brackets
SELECT make, COUNT(*) AS [Count] FROM cars GROUP BY make;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | SELECT make, COUNT(*) AS [Count] FROM cars GROUP BY make
--     |                          ^
-- Hint: write a name with other characters in backticks: AS `a b`.
-- write
SELECT make, COUNT(*) AS `Count` FROM cars GROUP BY make;
-- rows make:string,Count:bigint
-- Ford, 2
-- Lexus, 2
-- Toyota, 3

-- == a text without an end of its length
SELECT CONCAT(CAST(COUNT(*) AS NVARCHAR(MAX)), ' ', make, 's') AS passed FROM cars GROUP BY make;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '('.
--   1 | SELECT CONCAT(CAST(COUNT(*) AS NVARCHAR(MAX)), ' ', make, 's') AS passed FROM cars GROUP BY make
--     |                                        ^
-- Hint: write STRING.
-- write
SELECT CONCAT(CAST(COUNT(*) AS STRING), ' ', make, 's') AS passed FROM cars GROUP BY make;
-- rows passed:string
-- 2 Fords
-- 2 Lexuss
-- 3 Toyotas

-- == the elements of an array
SELECT o.id, item.ArrayValue AS item FROM orders AS o CROSS APPLY GetArrayElements(o.items) AS item;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'APPLY': missing 'JOIN'.
--   1 | SELECT o.id, item.ArrayValue AS item FROM orders AS o CROSS APPLY GetArrayElements(o.items) AS item
--     |                                                             ^^^^^
-- Hint: write LATERAL explode(t.items) AS u(item).
-- write
SELECT o.id, item FROM orders AS o, LATERAL explode(o.items) AS u(item);
-- rows id:int,item:string
-- 1, x
-- 1, y

-- == LIKE
SELECT * FROM cars WHERE plate LIKE 'A%9';
-- rows booth:int,make:string,plate:string,time:timestamp,weight:string
-- 2, Lexus, A9, 2026-01-01 00:02:05, 1700

-- == a step before the clause
WITH heavy AS (SELECT * FROM cars WHERE TRY_CAST(weight AS BIGINT) > 1800)
SELECT * FROM heavy MATCH_RECOGNIZE (
  PARTITION BY booth ORDER BY time MEASURES FIRST(plate) AS first, COUNT(*) AS n
  AFTER MATCH SKIP TO NEXT ROW PATTERN (a b+) DEFINE b AS b.time <= PREV(time) + INTERVAL '5' SECOND
);
-- rows booth:int,first:string,n:bigint
-- 1, F1, 2
-- 1, T2, 3
