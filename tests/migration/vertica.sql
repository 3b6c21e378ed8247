-- What users of Vertica write: its documentation of event series pattern matching, event series joins, event-based windows
-- and TIMESERIES (docs.vertica.com). The data and most of the words are ours.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW clickstream_log AS
SELECT * FROM VALUES (1, 100, TIMESTAMP '2026-01-01 12:00:00', 'other.com', 'shop.com/home', 'V'), (1, 100, TIMESTAMP '2026-01-01 12:01:00', 'shop.com/home', 'shop.com/hats', 'V'),
  (1, 100, TIMESTAMP '2026-01-01 12:02:00', 'shop.com/hats', 'shop.com/buy', 'P'), (2, 100, TIMESTAMP '2026-01-01 12:10:00', 'other.com', 'shop.com/home', 'V'),
  (2, 100, TIMESTAMP '2026-01-01 12:11:00', 'shop.com/home', 'shop.com/hats', 'V') AS clickstream_log(uid, sid, ts, refurl, pageurl, action);
CREATE OR REPLACE TEMPORARY VIEW ticks AS
SELECT * FROM VALUES (TIMESTAMP '2026-01-01 03:00:00', 'XYZ', 10.0D), (TIMESTAMP '2026-01-01 03:00:03', 'XYZ', 11.0D), (TIMESTAMP '2026-01-01 03:00:06', 'XYZ', 10.5D),
  (TIMESTAMP '2026-01-01 03:00:09', 'XYZ', 11.0D), (TIMESTAMP '2026-01-01 03:00:00', 'ABC', 5.0D) AS ticks(ts, symbol, bid);
CREATE OR REPLACE TEMPORARY VIEW hticks AS
SELECT * FROM VALUES ('HPQ', TIMESTAMP '2026-01-01 12:00:00', 50.0D), ('HPQ', TIMESTAMP '2026-01-01 12:01:00', 51.0D), ('HPQ', TIMESTAMP '2026-01-01 12:05:00', 51.5D) AS hticks(stock, time, price);
CREATE OR REPLACE TEMPORARY VIEW aticks AS
SELECT * FROM VALUES ('ACME', TIMESTAMP '2026-01-01 12:00:00', 340.0D), ('ACME', TIMESTAMP '2026-01-01 12:03:00', 340.1D), ('ACME', TIMESTAMP '2026-01-01 12:06:00', 340.2D) AS aticks(stock, time, price);

-- == MATCH with its functions
SELECT uid, ts, pageurl, event_name(), pattern_id(), match_id()
FROM clickstream_log
MATCH (PARTITION BY uid, sid ORDER BY ts
  DEFINE
    Entry AS refurl NOT ILIKE '%shop.com%' AND pageurl ILIKE '%shop.com%',
    Onsite AS pageurl ILIKE '%shop.com%' AND action = 'V',
    Purchase AS pageurl ILIKE '%shop.com%' AND action = 'P'
  PATTERN P AS (Entry Onsite* Purchase)
  ROWS MATCH FIRST EVENT);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'BY'.
--   3 | MATCH (PARTITION BY uid, sid ORDER BY ts
--     |                  ^^
-- Hint: write MATCH_RECOGNIZE (PARTITION BY … ORDER BY … MEASURES CLASSIFIER() AS event, MATCH_NUMBER() AS match ALL ROWS PER MATCH PATTERN (A B) DEFINE …).
-- write
SELECT uid, ts, pageurl, event_name, pattern_id, match_id
FROM clickstream_log MATCH_RECOGNIZE (
  PARTITION BY uid, sid ORDER BY ts
  MEASURES CLASSIFIER() AS event_name, MATCH_NUMBER() AS pattern_id, MATCH_SEQUENCE_NUMBER() AS match_id
  ALL ROWS PER MATCH
  PATTERN (Entry Onsite* Purchase)
  DEFINE
    Entry AS refurl NOT ILIKE '%shop.com%' AND pageurl ILIKE '%shop.com%',
    Onsite AS pageurl ILIKE '%shop.com%' AND action = 'V',
    Purchase AS pageurl ILIKE '%shop.com%' AND action = 'P'
);
-- rows uid:int,ts:timestamp,pageurl:string,event_name:string,pattern_id:bigint,match_id:bigint
-- 1, 2026-01-01 12:00:00, shop.com/home, ENTRY, 1, 1
-- 1, 2026-01-01 12:01:00, shop.com/hats, ONSITE, 1, 2
-- 1, 2026-01-01 12:02:00, shop.com/buy, PURCHASE, 1, 3

-- == events that a row can be both of
SELECT uid, ts, event_name() FROM clickstream_log
MATCH (PARTITION BY uid ORDER BY ts DEFINE Buy AS action = 'P', Page AS true PATTERN P AS (Page+ Buy) ROWS MATCH FIRST EVENT);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'BY'.
--   2 | MATCH (PARTITION BY uid ORDER BY ts DEFINE Buy AS action = 'P', Page AS true PATTERN P AS (Page+ Buy) ROWS MATCH FIRST EVENT)
--     |                  ^^
-- Hint: write MATCH_RECOGNIZE (PARTITION BY … ORDER BY … MEASURES CLASSIFIER() AS event, MATCH_NUMBER() AS match ALL ROWS PER MATCH PATTERN (A B) DEFINE …).
-- write
SELECT uid, ts, event_name
FROM clickstream_log MATCH_RECOGNIZE (
  PARTITION BY uid ORDER BY ts MEASURES CLASSIFIER() AS event_name ALL ROWS PER MATCH
  PATTERN (Page+ Buy) DEFINE Buy AS action = 'P', Page AS NOT action = 'P'
);
-- rows uid:int,ts:timestamp,event_name:string
-- 1, 2026-01-01 12:00:00, PAGE
-- 1, 2026-01-01 12:01:00, PAGE
-- 1, 2026-01-01 12:02:00, BUY

-- == an event series join
SELECT h.time, h.price, a.price AS a_price FROM hticks h LEFT OUTER JOIN aticks a ON h.time INTERPOLATE PREVIOUS VALUE a.time;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'INTERPOLATE'.
--   1 | SELECT h.time, h.price, a.price AS a_price FROM hticks h LEFT OUTER JOIN aticks a ON h.time INTERPOLATE PREVIOUS VALUE a.time
--     |                                                                                             ^^^^^^^^^^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key. For NEXT VALUE write <=.
-- write
SELECT h.time, h.price, a.price AS a_price FROM hticks h LEFT ASOF JOIN aticks a MATCH_CONDITION (h.time >= a.time);
-- rows time:timestamp,price:double,a_price:double
-- 2026-01-01 12:00:00, 50.0, 340.0
-- 2026-01-01 12:01:00, 51.0, 340.0
-- 2026-01-01 12:05:00, 51.5, 340.1

-- == an event series join with a key
SELECT t.ts, t.bid, u.bid AS other FROM ticks t LEFT OUTER JOIN ticks u ON t.symbol = u.symbol AND t.ts INTERPOLATE PREVIOUS VALUE u.ts;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'INTERPOLATE'.
--   1 | SELECT t.ts, t.bid, u.bid AS other FROM ticks t LEFT OUTER JOIN ticks u ON t.symbol = u.symbol AND t.ts INTERPOLATE PREVIOUS VALUE u.ts
--     |                                                                                                         ^^^^^^^^^^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key. For NEXT VALUE write <=.
-- write
SELECT t.ts, t.bid, u.bid AS other FROM ticks t LEFT ASOF JOIN ticks u MATCH_CONDITION (t.ts >= u.ts) ON t.symbol = u.symbol;
-- rows ts:timestamp,bid:double,other:double
-- 2026-01-01 03:00:00, 10.0, 10.0
-- 2026-01-01 03:00:00, 5.0, 5.0
-- 2026-01-01 03:00:03, 11.0, 11.0
-- 2026-01-01 03:00:06, 10.5, 10.5
-- 2026-01-01 03:00:09, 11.0, 11.0

-- == an event series join with the next value
SELECT h.time, a.time AS a_time FROM hticks h LEFT OUTER JOIN aticks a ON h.time INTERPOLATE NEXT VALUE a.time;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'INTERPOLATE'.
--   1 | SELECT h.time, a.time AS a_time FROM hticks h LEFT OUTER JOIN aticks a ON h.time INTERPOLATE NEXT VALUE a.time
--     |                                                                                  ^^^^^^^^^^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key. For NEXT VALUE write <=.
-- write
SELECT h.time, a.time AS a_time FROM hticks h LEFT ASOF JOIN aticks a MATCH_CONDITION (h.time <= a.time);
-- rows time:timestamp,a_time:timestamp
-- 2026-01-01 12:00:00, 2026-01-01 12:00:00
-- 2026-01-01 12:01:00, 2026-01-01 12:03:00
-- 2026-01-01 12:05:00, 2026-01-01 12:06:00

-- == a full event series join
SELECT h.time, h.price, a.time AS a_time, a.price AS a_price FROM hticks h FULL OUTER JOIN aticks a ON h.time INTERPOLATE PREVIOUS VALUE a.time;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'INTERPOLATE'.
--   1 | SELECT h.time, h.price, a.time AS a_time, a.price AS a_price FROM hticks h FULL OUTER JOIN aticks a ON h.time INTERPOLATE PREVIOUS VALUE a.time
--     |                                                                                                               ^^^^^^^^^^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key. For NEXT VALUE write <=.
-- write
SELECT t.time, h.price, a.price AS a_price
FROM (SELECT time FROM hticks UNION SELECT time FROM aticks) t
LEFT ASOF JOIN hticks h MATCH_CONDITION (t.time >= h.time)
LEFT ASOF JOIN aticks a MATCH_CONDITION (t.time >= a.time);
-- rows time:timestamp,price:double,a_price:double
-- 2026-01-01 12:00:00, 50.0, 340.0
-- 2026-01-01 12:01:00, 51.0, 340.0
-- 2026-01-01 12:03:00, 51.0, 340.1
-- 2026-01-01 12:05:00, 51.5, 340.1
-- 2026-01-01 12:06:00, 51.5, 340.2

-- == the number of events that are true
SELECT ts, bid, CONDITIONAL_TRUE_EVENT(bid > 10.6) OVER (PARTITION BY symbol ORDER BY ts) AS n FROM ticks;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function CONDITIONAL_TRUE_EVENT
--   1 | SELECT ts, bid, CONDITIONAL_TRUE_EVENT(bid > 10.6) OVER (PARTITION BY symbol ORDER BY ts) AS n FROM ticks
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write count_if(condition) OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED PRECEDING).
-- write
SELECT ts, bid, count_if(bid > 10.6) OVER (PARTITION BY symbol ORDER BY ts) AS n FROM ticks;
-- rows ts:timestamp,bid:double,n:bigint
-- 2026-01-01 03:00:00, 10.0, 0
-- 2026-01-01 03:00:00, 5.0, 0
-- 2026-01-01 03:00:03, 11.0, 1
-- 2026-01-01 03:00:06, 10.5, 1
-- 2026-01-01 03:00:09, 11.0, 2

-- == the number of changes
SELECT ts, bid, CONDITIONAL_CHANGE_EVENT(bid) OVER (PARTITION BY symbol ORDER BY ts) AS n FROM ticks WHERE symbol = 'XYZ';
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function CONDITIONAL_CHANGE_EVENT
--   1 | SELECT ts, bid, CONDITIONAL_CHANGE_EVENT(bid) OVER (PARTITION BY symbol ORDER BY ts) AS n FROM ticks WHERE symbol = 'XYZ'
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write PATTERN (a same*) DEFINE same AS x = PREV(x), and MATCH_NUMBER().
-- write
SELECT ts, bid, n - 1 AS n FROM ticks MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES MATCH_NUMBER() AS n
  ALL ROWS PER MATCH PATTERN (a same*) DEFINE same AS bid = PREV(bid)
) WHERE symbol = 'XYZ';
-- rows ts:timestamp,bid:double,n:bigint
-- 2026-01-01 03:00:00, 10.0, 0
-- 2026-01-01 03:00:03, 11.0, 1
-- 2026-01-01 03:00:06, 10.5, 2
-- 2026-01-01 03:00:09, 11.0, 3

-- == sessions
SELECT uid, ts, CONDITIONAL_TRUE_EVENT(ts - LAG(ts) > INTERVAL '5 minutes') OVER (PARTITION BY sid ORDER BY ts) AS session FROM clickstream_log;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function CONDITIONAL_TRUE_EVENT
--   1 | SELECT uid, ts, CONDITIONAL_TRUE_EVENT(ts - LAG(ts) > INTERVAL '5 minutes') OVER (PARTITION BY sid ORDER BY ts) AS session FROM clickstream_log
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write count_if(condition) OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED PRECEDING).
-- write
SELECT uid, ts, n - 1 AS session FROM clickstream_log MATCH_RECOGNIZE (
  PARTITION BY sid ORDER BY ts MEASURES MATCH_NUMBER() AS n
  ALL ROWS PER MATCH PATTERN (a near*) DEFINE near AS ts - PREV(ts) <= INTERVAL '5' MINUTES
);
-- rows uid:int,ts:timestamp,session:bigint
-- 1, 2026-01-01 12:00:00, 0
-- 1, 2026-01-01 12:01:00, 0
-- 1, 2026-01-01 12:02:00, 0
-- 2, 2026-01-01 12:10:00, 1
-- 2, 2026-01-01 12:11:00, 1

-- == gaps filled with the last value
SELECT slice_time, symbol, TS_FIRST_VALUE(bid, 'CONST') AS bid FROM ticks TIMESERIES slice_time AS '3 seconds' OVER (PARTITION BY symbol ORDER BY ts);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'slice_time'.
--   1 | SELECT slice_time, symbol, TS_FIRST_VALUE(bid, 'CONST') AS bid FROM ticks TIMESERIES slice_time AS '3 seconds' OVER (PARTITION BY symbol ORDER BY ts)
--     |                                                                                      ^^^^^^^^^^
-- Hint: write FROM explode(sequence(a, b, INTERVAL 1 MINUTE)) AS s(slice_time) LEFT ASOF JOIN t MATCH_CONDITION (s.slice_time >= t.ts).
-- write
SELECT s.slice_time, s.symbol, t.bid
FROM (SELECT symbol, explode(sequence(min(ts), max(ts), INTERVAL 3 SECONDS)) AS slice_time FROM ticks GROUP BY symbol) s
LEFT ASOF JOIN ticks t MATCH_CONDITION (s.slice_time >= t.ts) ON s.symbol = t.symbol;
-- rows slice_time:timestamp,symbol:string,bid:double
-- 2026-01-01 03:00:00, ABC, 5.0
-- 2026-01-01 03:00:00, XYZ, 10.0
-- 2026-01-01 03:00:03, XYZ, 11.0
-- 2026-01-01 03:00:06, XYZ, 10.5
-- 2026-01-01 03:00:09, XYZ, 11.0

-- == gaps filled along a line
SELECT slice_time, TS_FIRST_VALUE(bid, 'LINEAR') AS bid FROM ticks TIMESERIES slice_time AS '2 seconds' OVER (PARTITION BY symbol ORDER BY ts);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'slice_time'.
--   1 | SELECT slice_time, TS_FIRST_VALUE(bid, 'LINEAR') AS bid FROM ticks TIMESERIES slice_time AS '2 seconds' OVER (PARTITION BY symbol ORDER BY ts)
--     |                                                                               ^^^^^^^^^^
-- Hint: write FROM explode(sequence(a, b, INTERVAL 1 MINUTE)) AS s(slice_time) LEFT ASOF JOIN t MATCH_CONDITION (s.slice_time >= t.ts).
-- write
SELECT s.slice_time, a.bid + coalesce((b.bid - a.bid) * (unix_seconds(s.slice_time) - unix_seconds(a.ts)) / (unix_seconds(b.ts) - unix_seconds(a.ts)), 0) AS bid
FROM (SELECT explode(sequence(min(ts), max(ts), INTERVAL 2 SECONDS)) AS slice_time FROM ticks WHERE symbol = 'XYZ') s
LEFT ASOF JOIN (SELECT * FROM ticks WHERE symbol = 'XYZ') a MATCH_CONDITION (s.slice_time >= a.ts)
LEFT ASOF JOIN (SELECT * FROM ticks WHERE symbol = 'XYZ') b MATCH_CONDITION (s.slice_time < b.ts);
-- rows slice_time:timestamp,bid:double
-- 2026-01-01 03:00:00, 10.0
-- 2026-01-01 03:00:02, 10.666666666666666
-- 2026-01-01 03:00:04, 10.833333333333334
-- 2026-01-01 03:00:06, 10.5
-- 2026-01-01 03:00:08, 10.833333333333334

-- == slices of time
SELECT TIME_SLICE(ts, 6) AS slice, max(bid) AS top FROM ticks GROUP BY slice;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function TIME_SLICE
--   1 | SELECT TIME_SLICE(ts, 6) AS slice, max(bid) AS top FROM ticks GROUP BY slice
--     |        ^^^^^^^^^^^^^^^^^
-- Hint: write date_trunc('HOUR', ts), or GROUP BY the windows of TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR).
-- write
SELECT window_start AS slice, max(bid) AS top FROM TUMBLE(TABLE ticks, DESCRIPTOR(ts), INTERVAL 6 SECONDS) GROUP BY window_start, window_end;
-- rows slice:timestamp,top:double
-- 2026-01-01 03:00:00, 11.0
-- 2026-01-01 03:00:06, 11.0

-- == the first row of each
SELECT symbol, ts, bid FROM ticks LIMIT 1 OVER (PARTITION BY symbol ORDER BY ts DESC);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'OVER'.
--   1 | SELECT symbol, ts, bid FROM ticks LIMIT 1 OVER (PARTITION BY symbol ORDER BY ts DESC)
--     |                                           ^^^^
-- Hint: write QUALIFY row_number() OVER (PARTITION BY key ORDER BY ts DESC) = 1.
-- write
SELECT symbol, ts, bid FROM ticks QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY ts DESC) = 1;
-- rows symbol:string,ts:timestamp,bid:double
-- ABC, 2026-01-01 03:00:00, 5.0
-- XYZ, 2026-01-01 03:00:09, 11.0

-- == the last value that is not NULL
SELECT ts, LAST_VALUE(bid IGNORE NULLS) OVER (PARTITION BY symbol ORDER BY ts) AS bid FROM ticks WHERE symbol = 'XYZ';
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'IGNORE'.
--   1 | SELECT ts, LAST_VALUE(bid IGNORE NULLS) OVER (PARTITION BY symbol ORDER BY ts) AS bid FROM ticks WHERE symbol = 'XYZ'
--     |                           ^^^^^^
-- Hint: write IGNORE NULLS after the parenthesis: last_value(x) IGNORE NULLS OVER (…).
-- write
SELECT ts, LAST_VALUE(bid) IGNORE NULLS OVER (PARTITION BY symbol ORDER BY ts) AS bid FROM ticks WHERE symbol = 'XYZ';
-- rows ts:timestamp,bid:double
-- 2026-01-01 03:00:00, 10.0
-- 2026-01-01 03:00:03, 11.0
-- 2026-01-01 03:00:06, 10.5
-- 2026-01-01 03:00:09, 11.0

-- == an exponential average
SELECT ts, EXPONENTIAL_MOVING_AVERAGE(bid, 0.5) OVER (PARTITION BY symbol ORDER BY ts) AS average FROM ticks WHERE symbol = 'XYZ';
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function EXPONENTIAL_MOVING_AVERAGE
--   1 | SELECT ts, EXPONENTIAL_MOVING_AVERAGE(bid, 0.5) OVER (PARTITION BY symbol ORDER BY ts) AS average FROM ticks WHERE symbol = 'XYZ'
--     |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write aggregate(array_agg(x) OVER (ORDER BY ts), CAST(NULL AS DOUBLE), (s, x) -> coalesce(a * x + (1 - a) * s, x)).
-- write
SELECT ts, aggregate(array_agg(bid) OVER (PARTITION BY symbol ORDER BY ts), CAST(NULL AS DOUBLE), (s, x) -> coalesce(0.5D * x + 0.5D * s, x)) AS average
FROM ticks WHERE symbol = 'XYZ';
-- rows ts:timestamp,average:double
-- 2026-01-01 03:00:00, 10.0
-- 2026-01-01 03:00:03, 10.5
-- 2026-01-01 03:00:06, 10.5
-- 2026-01-01 03:00:09, 10.75

-- == a number of units between two times
SELECT symbol, DATEDIFF('second', MIN(ts), MAX(ts)) AS seconds FROM ticks GROUP BY symbol;
-- error
-- SQLEXT_INVALID_PARAMETER_VALUE_DATETIME_UNIT: The value of parameter(s) `unit` in `DATEDIFF` is invalid: expects one of the units without quotes YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, but got the string literal 'second'.
--   1 | SELECT symbol, DATEDIFF('second', MIN(ts), MAX(ts)) AS seconds FROM ticks GROUP BY symbol
--     |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write the unit without quotes: timestampdiff(MINUTE, a, b), which counts whole units, or timestampadd(MINUTE, 5, ts).
-- write
SELECT symbol, timestampdiff(SECOND, MIN(ts), MAX(ts)) AS seconds FROM ticks GROUP BY symbol;
-- rows symbol:string,seconds:bigint
-- ABC, 0
-- XYZ, 9

-- == division of integers
SELECT symbol, COUNT(*) // 2 AS half FROM ticks GROUP BY symbol;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '/'.
--   1 | SELECT symbol, COUNT(*) // 2 AS half FROM ticks GROUP BY symbol
--     |                          ^
-- Hint: write a div b of whole numbers, and a / b of others.
-- write
SELECT symbol, COUNT(*) div 2 AS half FROM ticks GROUP BY symbol;
-- rows symbol:string,half:bigint
-- ABC, 0
-- XYZ, 2

-- == a cast with two colons
SELECT symbol, MAX(ts)::DATE AS day FROM ticks GROUP BY symbol;
-- rows symbol:string,day:date
-- ABC, 2026-01-01
-- XYZ, 2026-01-01
