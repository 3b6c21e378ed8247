-- What users of DuckDB write: its guides of ASOF joins, windows and time series. The rows are those of DuckDB 2.0.1.
-- A statement whose title begins with "differs: " runs here as it stands and returns other rows than there; what to write follows.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW prices AS
SELECT * FROM VALUES ('APPL', TIMESTAMP '2026-01-01 00:00:00', 1), ('APPL', TIMESTAMP '2026-01-01 00:00:10', 2), ('APPL', TIMESTAMP '2026-01-01 00:00:20', 3),
  ('GOOG', TIMESTAMP '2026-01-01 00:00:00', 1), ('GOOG', TIMESTAMP '2026-01-01 00:00:20', 4) AS prices(ticker, when, price);
CREATE OR REPLACE TEMPORARY VIEW holdings AS
SELECT * FROM VALUES ('APPL', TIMESTAMP '2025-12-31 23:59:30', 5.16D), ('APPL', TIMESTAMP '2026-01-01 00:00:15', 2.94D), ('APPL', TIMESTAMP '2026-01-01 00:00:20', 10.0D),
  ('GOOG', TIMESTAMP '2026-01-01 00:00:30', 23.0D), ('DATA', TIMESTAMP '2026-01-01 00:00:05', 6.6D) AS holdings(ticker, when, shares);
CREATE OR REPLACE TEMPORARY VIEW sensors AS
SELECT * FROM VALUES (1, TIMESTAMP '2026-01-01 00:04:00', 10), (1, TIMESTAMP '2026-01-01 00:07:00', 12), (1, TIMESTAMP '2026-01-01 00:16:00', 11),
  (2, TIMESTAMP '2026-01-01 00:01:00', 30), (2, TIMESTAMP '2026-01-01 00:31:00', 33) AS sensors(id, ts, value);
CREATE OR REPLACE TEMPORARY VIEW events AS
SELECT * FROM VALUES ('a', 1, 4), ('b', 3, 6), ('c', 7, 9), ('d', 8, 12) AS events(name, lo, hi);

-- == ASOF join
SELECT h.ticker, h.when, price * shares AS value
FROM holdings h
ASOF JOIN prices p
       ON h.ticker = p.ticker
      AND h.when >= p.when;
-- rows ticker:string,when:timestamp,value:double
-- APPL, 2026-01-01 00:00:15, 5.88
-- APPL, 2026-01-01 00:00:20, 30.0
-- GOOG, 2026-01-01 00:00:30, 92.0

-- == ASOF LEFT join
SELECT h.ticker, h.when, price * shares AS value
FROM holdings h
ASOF LEFT JOIN prices p
            ON h.ticker = p.ticker
           AND h.when >= p.when
ORDER BY ALL;
-- rows ticker:string,when:timestamp,value:double
-- APPL, 2025-12-31 23:59:30, null
-- APPL, 2026-01-01 00:00:15, 5.88
-- APPL, 2026-01-01 00:00:20, 30.0
-- DATA, 2026-01-01 00:00:05, null
-- GOOG, 2026-01-01 00:00:30, 92.0

-- == ASOF join with USING
SELECT ticker, h.when, price * shares AS value
FROM holdings h
ASOF JOIN prices p USING (ticker, when);
-- rows ticker:string,when:timestamp,value:double
-- APPL, 2026-01-01 00:00:15, 5.88
-- APPL, 2026-01-01 00:00:20, 30.0
-- GOOG, 2026-01-01 00:00:30, 92.0

-- == ASOF LEFT JOIN with USING
SELECT ticker, price
FROM holdings h
ASOF LEFT JOIN prices p USING (ticker, when)
WHERE price IS NULL;
-- rows ticker:string,price:int
-- APPL, null
-- DATA, null

-- == the time of the right side
SELECT h.ticker, h.when AS held_at, p.when AS priced_at, p.price
FROM prices p
ASOF JOIN holdings h
  ON h.ticker = p.ticker AND p.when >= h.when;
-- rows ticker:string,held_at:timestamp,priced_at:timestamp,price:int
-- APPL, 2025-12-31 23:59:30, 2026-01-01 00:00:00, 1
-- APPL, 2025-12-31 23:59:30, 2026-01-01 00:00:10, 2
-- APPL, 2026-01-01 00:00:20, 2026-01-01 00:00:20, 3

-- == ASOF join with a strict inequality
SELECT h.ticker, h.when, p.price
FROM holdings h
ASOF JOIN prices p ON h.ticker = p.ticker AND h.when > p.when;
-- rows ticker:string,when:timestamp,price:int
-- APPL, 2026-01-01 00:00:15, 2
-- APPL, 2026-01-01 00:00:20, 2
-- GOOG, 2026-01-01 00:00:30, 4

-- == the next row instead of the previous one
SELECT h.ticker, h.when, p.when AS next_when
FROM holdings h
ASOF JOIN prices p ON p.ticker = h.ticker AND p.when >= h.when;
-- rows ticker:string,when:timestamp,next_when:timestamp
-- APPL, 2025-12-31 23:59:30, 2026-01-01 00:00:00
-- APPL, 2026-01-01 00:00:15, 2026-01-01 00:00:20
-- APPL, 2026-01-01 00:00:20, 2026-01-01 00:00:20

-- == ASOF join without a key
SELECT s.id, s.ts, e.t
FROM sensors s
ASOF JOIN (SELECT explode(array(TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:10:00')) AS t) e
  ON s.ts >= e.t;
-- rows id:int,ts:timestamp,t:timestamp
-- 1, 2026-01-01 00:04:00, 2026-01-01 00:00:00
-- 1, 2026-01-01 00:07:00, 2026-01-01 00:00:00
-- 1, 2026-01-01 00:16:00, 2026-01-01 00:10:00
-- 2, 2026-01-01 00:01:00, 2026-01-01 00:00:00
-- 2, 2026-01-01 00:31:00, 2026-01-01 00:10:00

-- == an ASOF join over a CTE
WITH p AS (FROM prices SELECT ticker, when, price * 10 AS price10)
SELECT h.ticker, p.price10
FROM holdings h ASOF JOIN p ON h.ticker = p.ticker AND h.when >= p.when
WHERE h.shares > 5;
-- rows ticker:string,price10:int
-- APPL, 30
-- GOOG, 40

-- == the last value for a calendar of times
SELECT s.id, c.t, s.value
FROM (SELECT id, t FROM (SELECT DISTINCT id FROM sensors)
      CROSS JOIN (SELECT explode(sequence(TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP '2026-01-01 00:30:00', INTERVAL 15 MINUTES)) AS t)) c
ASOF LEFT JOIN sensors s ON c.id = s.id AND c.t >= s.ts;
-- rows id:int,t:timestamp,value:int
-- 1, 2026-01-01 00:15:00, 12
-- 1, 2026-01-01 00:30:00, 11
-- 2, 2026-01-01 00:15:00, 30
-- 2, 2026-01-01 00:30:00, 30
-- null, 2026-01-01 00:00:00, null
-- null, 2026-01-01 00:00:00, null

-- == overlapping intervals
SELECT a.name AS first, b.name AS second
FROM events a JOIN events b ON a.lo < b.hi AND b.lo < a.hi AND a.name < b.name
ORDER BY ALL;
-- rows first:string,second:string
-- a, b
-- c, d

-- == rows within a range of time
SELECT a.id, a.ts, count(*) AS n
FROM sensors a JOIN sensors b
  ON a.id = b.id AND b.ts BETWEEN a.ts - INTERVAL 10 MINUTES AND a.ts
GROUP BY ALL ORDER BY ALL;
-- rows id:int,ts:timestamp,n:bigint
-- 1, 2026-01-01 00:04:00, 1
-- 1, 2026-01-01 00:07:00, 2
-- 1, 2026-01-01 00:16:00, 2
-- 2, 2026-01-01 00:01:00, 1
-- 2, 2026-01-01 00:31:00, 1

-- == a moving average over rows
SELECT id, ts, avg(value) OVER (PARTITION BY id ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a
FROM sensors;
-- rows id:int,ts:timestamp,a:double
-- 1, 2026-01-01 00:04:00, 10.0
-- 1, 2026-01-01 00:07:00, 11.0
-- 1, 2026-01-01 00:16:00, 11.5
-- 2, 2026-01-01 00:01:00, 30.0
-- 2, 2026-01-01 00:31:00, 31.5

-- == a moving average over a range of time
SELECT id, ts, avg(value) OVER recent AS a
FROM sensors
WINDOW recent AS (PARTITION BY id ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW);
-- rows id:int,ts:timestamp,a:double
-- 1, 2026-01-01 00:04:00, 10.0
-- 1, 2026-01-01 00:07:00, 11.0
-- 1, 2026-01-01 00:16:00, 11.5
-- 2, 2026-01-01 00:01:00, 30.0
-- 2, 2026-01-01 00:31:00, 33.0

-- == QUALIFY
SELECT id, ts, value
FROM sensors
QUALIFY row_number() OVER (PARTITION BY id ORDER BY ts DESC) = 1;
-- rows id:int,ts:timestamp,value:int
-- 1, 2026-01-01 00:16:00, 11
-- 2, 2026-01-01 00:31:00, 33

-- == buckets of time
SELECT id, date_trunc('hour', ts) AS hour, max(value) AS top
FROM sensors
GROUP BY ALL;
-- rows id:int,hour:timestamp,top:int
-- 1, 2026-01-01 00:00:00, 12
-- 2, 2026-01-01 00:00:00, 33

-- == time_bucket
SELECT id, time_bucket(INTERVAL '15 minutes', ts) AS bucket, count(*) AS n
FROM sensors
GROUP BY ALL;
-- rows id:int,bucket:timestamp,n:bigint
-- 1, 2026-01-01 00:00:00, 2
-- 1, 2026-01-01 00:15:00, 1
-- 2, 2026-01-01 00:00:00, 1
-- 2, 2026-01-01 00:30:00, 1

-- == differs: time_bucket of a length that does not divide a day
SELECT ts, time_bucket(INTERVAL '7 minutes', ts) AS bucket FROM sensors WHERE id = 1;
-- rows ts:timestamp,bucket:timestamp
-- 2026-01-01 00:04:00, 2026-01-01 00:00:00
-- 2026-01-01 00:07:00, 2026-01-01 00:07:00
-- 2026-01-01 00:16:00, 2026-01-01 00:14:00
-- write
SELECT ts, time_bucket(INTERVAL '7 minutes', ts, TIMESTAMP '2000-01-03 00:00:00') AS bucket FROM sensors WHERE id = 1;
-- rows ts:timestamp,bucket:timestamp
-- 2026-01-01 00:04:00, 2025-12-31 23:59:00
-- 2026-01-01 00:07:00, 2026-01-01 00:06:00
-- 2026-01-01 00:16:00, 2026-01-01 00:13:00

-- == differs: time_bucket of weeks
SELECT time_bucket(INTERVAL '1 week', ts) AS week, count(*) AS n FROM sensors GROUP BY week;
-- rows week:timestamp,n:bigint
-- 2026-01-01 00:00:00, 5
-- write
SELECT time_bucket(INTERVAL '1 week', ts, TIMESTAMP '2000-01-03 00:00:00') AS week, count(*) AS n FROM sensors GROUP BY week;
-- rows week:timestamp,n:bigint
-- 2025-12-29 00:00:00, 5

-- == FILTER
SELECT id, count(*) FILTER (WHERE value > 10) AS n
FROM sensors
GROUP BY id;
-- rows id:int,n:bigint
-- 1, 2
-- 2, 2

-- == the row of a maximum
SELECT id, max_by(ts, value) AS ts
FROM sensors
GROUP BY id;
-- rows id:int,ts:timestamp
-- 1, 2026-01-01 00:07:00
-- 2, 2026-01-01 00:31:00

-- == differs: the row of a maximum, of which the value is NULL
SELECT max_by(price, day) AS last_price FROM VALUES (5, 1), (NULL, 2) AS quotes(price, day);
-- rows last_price:int
-- null
-- write
SELECT max_by(price, day) FILTER (WHERE price IS NOT NULL) AS last_price FROM VALUES (5, 1), (NULL, 2) AS quotes(price, day);
-- rows last_price:int
-- 5

-- == forward fill
SELECT id, ts, last_value(CASE WHEN value <> 12 THEN value END IGNORE NULLS) OVER (PARTITION BY id ORDER BY ts) AS filled
FROM sensors;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'IGNORE'.
--   1 | SELECT id, ts, last_value(CASE WHEN value <> 12 THEN value END IGNORE NULLS) OVER (PARTITION BY id ORDER BY ts) AS filled
--     |                                                                ^^^^^^
-- Hint: write IGNORE NULLS after the parenthesis: last_value(x) IGNORE NULLS OVER (…).
-- write
SELECT id, ts, last_value(CASE WHEN value <> 12 THEN value END) IGNORE NULLS OVER (PARTITION BY id ORDER BY ts) AS filled
FROM sensors;
-- rows id:int,ts:timestamp,filled:int
-- 1, 2026-01-01 00:04:00, 10
-- 1, 2026-01-01 00:07:00, 10
-- 1, 2026-01-01 00:16:00, 11
-- 2, 2026-01-01 00:01:00, 30
-- 2, 2026-01-01 00:31:00, 33

-- == sessions by a gap
SELECT id, session, count(*) AS n
FROM (SELECT *, sum(is_new) OVER (PARTITION BY id ORDER BY ts) AS session
      FROM (SELECT *, CASE WHEN ts - lag(ts) OVER (PARTITION BY id ORDER BY ts) <= INTERVAL 5 MINUTES THEN 0 ELSE 1 END AS is_new FROM sensors))
GROUP BY id, session;
-- rows id:int,session:bigint,n:bigint
-- 1, 1, 2
-- 1, 2, 1
-- 2, 1, 1
-- 2, 2, 1

-- == two ASOF joins
SELECT h.ticker, p.price, q.price AS next_price
FROM holdings h
ASOF JOIN prices p ON h.ticker = p.ticker AND h.when >= p.when
ASOF JOIN prices q ON h.ticker = q.ticker AND h.when <= q.when;
-- rows ticker:string,price:int,next_price:int
-- APPL, 2, 3
-- APPL, 3, 3

-- == a list in an order
SELECT list(price ORDER BY price DESC) AS p FROM VALUES (1), (NULL), (3) AS quotes(price);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'ORDER': missing ')'.
--   1 | SELECT list(price ORDER BY price DESC) AS p FROM VALUES (1), (NULL), (3) AS quotes(price)
--     |                   ^^^^^
-- Hint: write listagg(x, ',') WITHIN GROUP (ORDER BY y), or max_by(x, y) for one value.
-- write
SELECT transform(sort_array(array_agg(struct(price)), false), r -> r.price) AS p FROM VALUES (1), (NULL), (3) AS quotes(price);
-- rows p:array<int>
-- [3, 1, null]

-- == differs: a list with NULL
SELECT array_agg(price) AS p FROM VALUES (1), (NULL), (3) AS quotes(price);
-- rows p:array<int>
-- [1, 3]
-- write
SELECT transform(array_agg(struct(price)), r -> r.price) AS p FROM VALUES (1), (NULL), (3) AS quotes(price);
-- rows p:array<int>
-- [1, null, 3]

-- == date_diff with a unit
SELECT date_diff('minute', a, b) AS minutes FROM VALUES (TIMESTAMP '2026-01-01 00:00:59', TIMESTAMP '2026-01-01 00:01:01') AS spans(a, b);
-- error
-- SQLEXT_INVALID_PARAMETER_VALUE_DATETIME_UNIT: The value of parameter(s) `unit` in `date_diff` is invalid: expects one of the units without quotes YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, but got the string literal 'minute'.
--   1 | SELECT date_diff('minute', a, b) AS minutes FROM VALUES (TIMESTAMP '2026-01-01 00:00:59', TIMESTAMP '2026-01-01 00:01:01') AS spans(a, b)
--     |        ^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write the unit without quotes: timestampdiff(MINUTE, a, b), which counts whole units, or timestampadd(MINUTE, 5, ts).
-- write
SELECT timestampdiff(MINUTE, date_trunc('MINUTE', a), date_trunc('MINUTE', b)) AS minutes FROM VALUES (TIMESTAMP '2026-01-01 00:00:59', TIMESTAMP '2026-01-01 00:01:01') AS spans(a, b);
-- rows minutes:bigint
-- 1

-- == division of integers
SELECT name, hi // lo AS n FROM events;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '/'.
--   1 | SELECT name, hi // lo AS n FROM events
--     |                  ^
-- Hint: write a div b of whole numbers, and a / b of others.
-- write
SELECT name, hi div lo AS n FROM events;
-- rows name:string,n:bigint
-- a, 4
-- b, 2
-- c, 1
-- d, 1

-- == division of doubles by //
SELECT 7.5D // 2 AS n;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '/'.
--   1 | SELECT 7.5D // 2 AS n
--     |              ^
-- Hint: write a div b of whole numbers, and a / b of others.
-- write
SELECT 7.5D / 2 AS n;
-- rows n:double
-- 3.75

-- == a list in brackets
SELECT unnest([1, 2]) AS x;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | SELECT unnest([1, 2]) AS x
--     |               ^
-- Hint: write array(1, 2), and explode(array(1, 2)) for a row of each element.
-- write
SELECT explode(array(1, 2)) AS x;
-- rows x:int
-- 1
-- 2

-- == generate_series
SELECT x FROM generate_series(1, 3) AS t(x);
-- error
-- SQLEXT_UNRESOLVABLE_TABLE_VALUED_FUNCTION: Could not resolve `generate_series` to a table-valued function.
--   1 | SELECT x FROM generate_series(1, 3) AS t(x)
--     |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write FROM explode(sequence(1, n)) AS t(x).
-- write
SELECT x FROM explode(sequence(1, 3)) AS t(x);
-- rows x:int
-- 1
-- 2
-- 3

-- == FROM first
FROM prices SELECT ticker, max(price) AS p GROUP BY ticker;
-- rows ticker:string,p:int
-- APPL, 3
-- GOOG, 4

-- == columns replaced
SELECT * REPLACE (lo * 2 AS lo) FROM events;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '('.
--   1 | SELECT * REPLACE (lo * 2 AS lo) FROM events
--     |                  ^
-- Hint: list the columns: SELECT * EXCEPT (a), f(a) AS a.
-- write
SELECT name, lo * 2 AS lo, hi FROM events;
-- rows name:string,lo:int,hi:int
-- a, 2, 4
-- b, 6, 6
-- c, 14, 9
-- d, 16, 12

-- == epoch_ms
SELECT epoch_ms(TIMESTAMP '2026-01-01 00:00:00.0009') AS ms;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function epoch_ms
--   1 | SELECT epoch_ms(TIMESTAMP '2026-01-01 00:00:00.0009') AS ms
--     |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write unix_millis(ts), or timestamp_millis(n).
-- write
SELECT CAST(round(unix_micros(TIMESTAMP '2026-01-01 00:00:00.0009') / 1000) AS BIGINT) AS ms;
-- rows ms:bigint
-- 1767225600001

-- == ASOF SEMI join
SELECT h.ticker, h.when FROM holdings h ASOF SEMI JOIN prices p ON h.ticker = p.ticker AND h.when >= p.when;
-- error
-- SQLEXT_JOIN_TYPE: there is no SEMI ASOF JOIN
--   1 | SELECT h.ticker, h.when FROM holdings h ASOF SEMI JOIN prices p ON h.ticker = p.ticker AND h.when >= p.when
--     |                                         ^^^^^^^^^^^^^^
-- Hint: a row has a nearest partner if it has any: write LEFT SEMI JOIN prices p ON h.ticker = p.ticker AND h.when >= p.when.
-- write
SELECT h.ticker, h.when FROM holdings h LEFT SEMI JOIN prices p ON h.ticker = p.ticker AND h.when >= p.when;
-- rows ticker:string,when:timestamp
-- APPL, 2026-01-01 00:00:15
-- APPL, 2026-01-01 00:00:20
-- GOOG, 2026-01-01 00:00:30

-- == ASOF ANTI join
SELECT h.ticker, h.when FROM holdings h ASOF ANTI JOIN prices p ON h.ticker = p.ticker AND h.when >= p.when;
-- error
-- SQLEXT_JOIN_TYPE: there is no ANTI ASOF JOIN
--   1 | SELECT h.ticker, h.when FROM holdings h ASOF ANTI JOIN prices p ON h.ticker = p.ticker AND h.when >= p.when
--     |                                         ^^^^^^^^^^^^^^
-- Hint: a row has a nearest partner if it has any: write LEFT ANTI JOIN prices p ON h.ticker = p.ticker AND h.when >= p.when.
-- write
SELECT h.ticker, h.when FROM holdings h LEFT ANTI JOIN prices p ON h.ticker = p.ticker AND h.when >= p.when;
-- rows ticker:string,when:timestamp
-- APPL, 2025-12-31 23:59:30
-- DATA, 2026-01-01 00:00:05
