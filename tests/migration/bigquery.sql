-- What users of BigQuery write: GoogleSQL's MATCH_RECOGNIZE in its documentation, in bigquery-utils and in blogs, and its
-- functions of time series. The data and most of the words are ours.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW Orders AS
SELECT * FROM VALUES (1, 'USA', 200), (2, 'USA', 300), (3, 'France', 50), (4, 'USA', 60), (5, 'Mexico', 70), (6, 'USA', 24),
  (7, 'China', 60), (8, 'USA', 55), (9, 'China', 40), (10, 'USA', 38), (11, 'USA', 150), (12, 'France', 180) AS Orders(id, country, price);
CREATE OR REPLACE TEMPORARY VIEW logins AS
SELECT * FROM VALUES ('ann', TIMESTAMP '2026-01-01 08:00:00', 'fail'), ('ann', TIMESTAMP '2026-01-01 08:00:20', 'fail'), ('ann', TIMESTAMP '2026-01-01 08:01:00', 'ok'),
  ('bob', TIMESTAMP '2026-01-01 08:00:00', 'ok'), ('bob', TIMESTAMP '2026-01-01 09:30:00', 'fail') AS logins(user, ts, status);
CREATE OR REPLACE TEMPORARY VIEW signals AS
SELECT * FROM VALUES ('d1', TIMESTAMP '2026-01-01 09:36:00', 84), ('d1', TIMESTAMP '2026-01-01 09:39:00', 86), ('d2', TIMESTAMP '2026-01-01 09:37:00', NULL) AS signals(device, time, signal);

-- == small orders before a large one
SELECT *
FROM (
  SELECT IF(country = 'USA', 'USA', 'non-USA') AS location, * FROM Orders
) MATCH_RECOGNIZE (
  PARTITION BY location
  ORDER BY id
  MEASURES ARRAY_AGG(price) AS orders
  PATTERN (small* large)
  DEFINE small AS price < 100, large AS price >= 100
);
-- rows location:string,orders:array<int>
-- USA, [200]
-- USA, [300]
-- USA, [60, 24, 55, 38, 150]
-- non-USA, [50, 70, 60, 40, 180]

-- == overlapping matches
SELECT first_id, n
FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES FIRST(small.id) AS first_id, COUNT(*) AS n
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (small{2,} large)
  DEFINE small AS price < 60, large AS price > 140
);
-- rows first_id:int,n:bigint
-- 8, 4
-- 9, 3

-- == the longest match
SELECT start, n
FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MIN(id) AS start, COUNT(*) AS n
  PATTERN (a | a b+)
  DEFINE a AS price < 60, b AS price < 70
  OPTIONS (use_longest_match = TRUE)
);
-- error
-- SQLEXT_UNEXPECTED_WORD: OPTIONS is not allowed inside MATCH_RECOGNIZE
--   7 |   OPTIONS (use_longest_match = TRUE)
--     |   ^^^^^^^
-- Hint: leave FALSE out, which is the rule here: an earlier alternative is preferred, not the longest match; for TRUE write the longer alternative first.
-- write
SELECT start, n
FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MIN(id) AS start, COUNT(*) AS n
  PATTERN (a b+ | a)
  DEFINE a AS price < 60, b AS price < 70
);
-- rows start:int,n:bigint
-- 3, 2
-- 6, 5

-- == the numbers of the match and of its rows
SELECT * FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MATCH_NUMBER() AS m, MAX(id) AS last_id, ARRAY_AGG(MATCH_ROW_NUMBER()) AS numbers
  PATTERN (usa+) DEFINE usa AS country = 'USA'
);
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function MATCH_ROW_NUMBER
--   3 |   MEASURES MATCH_NUMBER() AS m, MAX(id) AS last_id, ARRAY_AGG(MATCH_ROW_NUMBER()) AS numbers
--     |                                                               ^^^^^^^^^^^^^^^^^^
-- Hint: write MATCH_SEQUENCE_NUMBER(), or sequence(1, COUNT(*)) for those of all rows.
-- write
SELECT * FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MATCH_NUMBER() AS m, MAX(id) AS last_id, sequence(1, COUNT(*)) AS numbers
  PATTERN (usa+) DEFINE usa AS country = 'USA'
);
-- rows m:bigint,last_id:int,numbers:array<bigint>
-- 1, 2, [1, 2]
-- 2, 4, [1]
-- 3, 6, [1]
-- 4, 8, [1]
-- 5, 11, [1, 2]

-- == the symbols of a match
SELECT * FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MIN(id) AS id, STRING_AGG(CLASSIFIER(), ',') AS symbols
  PATTERN (`low` `high`) DEFINE `low` AS price < 100, `high` AS price >= 100
);
-- rows id:int,symbols:string
-- 10, low,high

-- == the values of one symbol
SELECT * FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MAX(down.price) AS top, MIN(down.price) AS bottom, COUNT(up.price) AS ups
  PATTERN (down+ up) DEFINE down AS price <= NEXT(price), up AS price > PREV(price) AND price > 100
);
-- rows top:int,bottom:int,ups:bigint
-- 150, 38, 1
-- 200, 200, 1

-- == a struct of each row
SELECT * FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES ARRAY_AGG(STRUCT(id, price)) AS orders
  PATTERN (^ a{2}) DEFINE a AS country = 'USA'
);
-- rows orders:array<struct<id:int,price:int>>
-- [{1, 200}, {2, 300}]

-- == the value of the largest
SELECT * FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES ANY_VALUE(country HAVING MAX price) AS country, SUM(price) AS total
  PATTERN (a{3,5}) DEFINE a AS price < 100
);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'HAVING'.
--   3 |   MEASURES ANY_VALUE(country HAVING MAX price) AS country, SUM(price) AS total
--     |                              ^^^^^^
-- Hint: write max_by(value, key), or min_by(value, key).
-- write
SELECT * FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES max_by(country, price) AS country, SUM(price) AS total
  PATTERN (a{3,5}) DEFINE a AS price < 100
);
-- rows country:string,total:bigint
-- Mexico, 264
-- USA, 133

-- == the first of an array
SELECT * FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES ARRAY_AGG(price LIMIT 2) AS prices
  PATTERN (a+) DEFINE a AS price < 100
);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'LIMIT'.
--   3 |   MEASURES ARRAY_AGG(price LIMIT 2) AS prices
--     |                            ^^^^^
-- Hint: write slice(array_agg(x), 1, n).
-- write
SELECT * FROM Orders MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES slice(array_agg(price), 1, 2) AS prices
  PATTERN (a+) DEFINE a AS price < 100
);
-- rows prices:array<int>
-- [50, 60]

-- == repeated failures within a time
SELECT user, minutes FROM logins MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts
  MEASURES TIMESTAMP_DIFF(LAST(ts), FIRST(ts), SECOND) AS minutes
  PATTERN (f+ k) DEFINE f AS status = 'fail', k AS status = 'ok'
);
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function TIMESTAMP_DIFF
--   3 |   MEASURES TIMESTAMP_DIFF(LAST(ts), FIRST(ts), SECOND) AS minutes
--     |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write timestampdiff(MINUTE, b, a): the earlier time is first.
-- write
SELECT user, minutes FROM logins MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts
  MEASURES timestampdiff(SECOND, FIRST(ts), LAST(ts)) AS minutes
  PATTERN (f+ k) DEFINE f AS status = 'fail', k AS status = 'ok'
);
-- rows user:string,minutes:bigint
-- ann, 60

-- == after a pipe
FROM logins |> MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts MEASURES COUNT(*) AS n PATTERN (f+) DEFINE f AS status = 'fail'
);
-- error
-- SQLEXT_CLAUSE_AFTER_PIPE: MATCH_RECOGNIZE cannot follow |>, it belongs to a relation
--   1 | FROM logins |> MATCH_RECOGNIZE (
--     |                ^^^^^^^^^^^^^^^
-- Hint: write FROM logins MATCH_RECOGNIZE (…).
-- write
SELECT * FROM logins MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts MEASURES COUNT(*) AS n PATTERN (f+) DEFINE f AS status = 'fail'
);
-- rows user:string,n:bigint
-- ann, 2
-- bob, 1

-- == a cast to a type of BigQuery
SELECT * FROM logins MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts MEASURES CAST(COUNT(*) AS FLOAT64) AS n PATTERN (f+) DEFINE f AS status = 'fail'
);
-- error
-- SQLEXT_UNSUPPORTED_DATATYPE: Unsupported data type "FLOAT64".
--   2 |   PARTITION BY user ORDER BY ts MEASURES CAST(COUNT(*) AS FLOAT64) AS n PATTERN (f+) DEFINE f AS status = 'fail'
--     |                                                           ^^^^^^^
-- Hint: write DOUBLE.
-- write
SELECT * FROM logins MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts MEASURES CAST(COUNT(*) AS DOUBLE) AS n PATTERN (f+) DEFINE f AS status = 'fail'
);
-- rows user:string,n:double
-- ann, 2.0
-- bob, 1.0

-- == rows of an array
SELECT x FROM UNNEST([1, 2]) AS x;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | SELECT x FROM UNNEST([1, 2]) AS x
--     |                      ^
-- Hint: write array(1, 2), and explode(array(1, 2)) for a row of each element.
-- write
SELECT x FROM explode(array(1, 2)) AS t(x);
-- rows x:int
-- 1
-- 2

-- == the row of each with the latest time
SELECT user, status FROM logins QUALIFY ROW_NUMBER() OVER (PARTITION BY user ORDER BY ts DESC) = 1;
-- rows user:string,status:string
-- ann, ok
-- bob, fail

-- == division without an error
SELECT country, SAFE_DIVIDE(SUM(price), COUNT(*) - 1) AS d FROM Orders GROUP BY country;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function SAFE_DIVIDE
--   1 | SELECT country, SAFE_DIVIDE(SUM(price), COUNT(*) - 1) AS d FROM Orders GROUP BY country
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write try_divide(a, b).
-- write
SELECT country, try_divide(SUM(price), COUNT(*) - 1) AS d FROM Orders GROUP BY country;
-- rows country:string,d:double
-- China, 100.0
-- France, 230.0
-- Mexico, null
-- USA, 137.83333333333334

-- == conditions in aggregates
SELECT user, COUNTIF(status = 'fail') AS fails, LOGICAL_OR(status = 'ok') AS came_in FROM logins GROUP BY user;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function COUNTIF
--   1 | SELECT user, COUNTIF(status = 'fail') AS fails, LOGICAL_OR(status = 'ok') AS came_in FROM logins GROUP BY user
--     |              ^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write count_if(condition).
-- write
SELECT user, count_if(status = 'fail') AS fails, bool_or(status = 'ok') AS came_in FROM logins GROUP BY user;
-- rows user:string,fails:bigint,came_in:boolean
-- ann, 2, true
-- bob, 1, true

-- == buckets of time
SELECT TIMESTAMP_TRUNC(ts, HOUR) AS hour, COUNT(*) AS n FROM logins GROUP BY hour;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function TIMESTAMP_TRUNC
--   1 | SELECT TIMESTAMP_TRUNC(ts, HOUR) AS hour, COUNT(*) AS n FROM logins GROUP BY hour
--     |        ^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write date_trunc('HOUR', ts).
-- write
SELECT date_trunc('HOUR', ts) AS hour, COUNT(*) AS n FROM logins GROUP BY hour;
-- rows hour:timestamp,n:bigint
-- 2026-01-01 08:00:00, 4
-- 2026-01-01 09:00:00, 1

-- == gaps filled with the last value
SELECT * FROM GAP_FILL(TABLE signals, ts_column => 'time', bucket_width => INTERVAL 1 MINUTE, partitioning_columns => ['device'], value_columns => [('signal', 'locf')]);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | SELECT * FROM GAP_FILL(TABLE signals, ts_column => 'time', bucket_width => INTERVAL 1 MINUTE, partitioning_columns => ['device'], value_columns => [('signal', 'locf')])
--     |                                                                                                                       ^
-- Hint: write FROM explode(sequence(a, b, INTERVAL 1 MINUTE)) AS s(slice_time) LEFT ASOF JOIN t MATCH_CONDITION (s.slice_time >= t.ts).
-- write
SELECT s.time, s.device, t.signal
FROM (SELECT device, explode(sequence(min(time), max(time), INTERVAL 1 MINUTE)) AS time FROM signals GROUP BY device) s
LEFT ASOF JOIN signals t MATCH_CONDITION (s.time >= t.time) ON s.device = t.device;
-- rows time:timestamp,device:string,signal:int
-- 2026-01-01 09:36:00, d1, 84
-- 2026-01-01 09:37:00, d1, 84
-- 2026-01-01 09:37:00, d2, null
-- 2026-01-01 09:38:00, d1, 84
-- 2026-01-01 09:39:00, d1, 86

-- == all columns but one
SELECT * EXCEPT (signal) FROM signals;
-- rows device:string,time:timestamp
-- d1, 2026-01-01 09:36:00
-- d1, 2026-01-01 09:39:00
-- d2, 2026-01-01 09:37:00
