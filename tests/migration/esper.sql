-- What users of Esper and Siddhi write: patterns over events, and windows of time and length. The rows are those of
-- Esper 9.0.0 and Siddhi 5.1.30, with the events of `readings` in the order of their times. Of a window of events, the row
-- of each event is meant; the row that Esper adds where the last event of a group leaves its window is not.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW readings AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 10:00:00', 31), ('a', TIMESTAMP '2026-01-01 10:05:00', 20), ('a', TIMESTAMP '2026-01-01 10:08:00', 35), ('a', TIMESTAMP '2026-01-01 11:20:00', 36),
  ('b', TIMESTAMP '2026-01-01 10:01:00', 40), ('b', TIMESTAMP '2026-01-01 10:30:00', 41) AS readings(sensor, ts, temp);
CREATE OR REPLACE TEMPORARY VIEW limits AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 09:59:00', 30), ('a', TIMESTAMP '2026-01-01 10:06:00', 33), ('b', TIMESTAMP '2026-01-01 10:20:00', 50) AS limits(sensor, ts, upper);

-- == EPL: followed by
select a.ts, b.ts from pattern [every a=readings(temp > 30) -> b=readings(sensor = a.sensor and temp > a.temp)];
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | select a.ts, b.ts from pattern [every a=readings(temp > 30) -> b=readings(sensor = a.sensor and temp > a.temp)]
--     |                                ^
-- Hint: write FROM t MATCH_RECOGNIZE (… PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES …), with (a | b) for OR and a !-> b for an absent b: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, a_ts, b_ts
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES a.ts AS a_ts, b.ts AS b_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (a -> b) DEFINE a AS temp > 30, b AS b.temp > a.temp
);
-- rows sensor:string,a_ts:timestamp,b_ts:timestamp
-- a, 2026-01-01 10:00:00, 2026-01-01 10:08:00
-- a, 2026-01-01 10:08:00, 2026-01-01 11:20:00
-- b, 2026-01-01 10:01:00, 2026-01-01 10:30:00

-- == EPL: timer:within
select a.ts from pattern [every a=readings(temp > 30) -> b=readings(sensor = a.sensor and temp > a.temp) where timer:within(10 min)];
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | select a.ts from pattern [every a=readings(temp > 30) -> b=readings(sensor = a.sensor and temp > a.temp) where timer:within(10 min)]
--     |                          ^
-- Hint: write FROM t MATCH_RECOGNIZE (… PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES …), with (a | b) for OR and a !-> b for an absent b: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, a_ts
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES a.ts AS a_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES DEFINE a AS temp > 30, b AS b.temp > a.temp
);
-- rows sensor:string,a_ts:timestamp
-- a, 2026-01-01 10:00:00

-- == EPL: an event that does not come
select a.ts from pattern [every a=readings(temp > 30) -> (timer:interval(10 min) and not b=readings(sensor = a.sensor))];
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | select a.ts from pattern [every a=readings(temp > 30) -> (timer:interval(10 min) and not b=readings(sensor = a.sensor))]
--     |                          ^
-- Hint: write FROM t MATCH_RECOGNIZE (… PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES …), with (a | b) for OR and a !-> b for an absent b: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, a_ts
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES a.ts AS a_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (a !-> b) WITHIN INTERVAL 10 MINUTES DEFINE a AS temp > 30, b AS true
);
-- rows sensor:string,a_ts:timestamp
-- a, 2026-01-01 10:08:00
-- a, 2026-01-01 11:20:00
-- b, 2026-01-01 10:01:00
-- b, 2026-01-01 10:30:00

-- == EPL: match_recognize with interval
SELECT * FROM readings match_recognize (
  partition by sensor measures A.ts as a_ts, B.ts as b_ts
  pattern (A B) interval 10 minutes
  define A as A.temp > 30, B as B.temp > A.temp
);
-- error
-- SQLEXT_UNEXPECTED_WORD: only WITHIN, SUBSET and DEFINE can follow PATTERN ( … )
--   3 |   pattern (A B) interval 10 minutes
--     |                 ^^^^^^^^
-- Hint: write WITHIN interval 10 minutes for a bound; Esper's is none: leave it out for the same matches.
-- write
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES A.ts AS a_ts, B.ts AS b_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B)
  DEFINE A AS A.temp > 30, B AS B.temp > A.temp
);
-- rows sensor:string,a_ts:timestamp,b_ts:timestamp
-- a, 2026-01-01 10:08:00, 2026-01-01 11:20:00
-- b, 2026-01-01 10:01:00, 2026-01-01 10:30:00

-- == EPL: all matches
SELECT * FROM readings match_recognize (
  partition by sensor measures A.ts as a_ts, B.ts as b_ts
  all matches
  after match skip to current row
  pattern (A C* B)
  define A as A.temp > 30, B as B.temp > A.temp
);
-- error
-- SQLEXT_UNEXPECTED_WORD: ALL MATCHES is not allowed inside MATCH_RECOGNIZE
--   3 |   all matches
--     |   ^^^^^^^^^^^
-- Hint: write AFTER MATCH NO SKIP, which finds every match, as with SKIP TO CURRENT ROW in Esper.
--
-- SQLEXT_AFTER_MATCH_SKIP: this is not a known form of AFTER MATCH
--   4 |   after match skip to current row
--     |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write SKIP PAST LAST ROW, SKIP TO NEXT ROW, SKIP TO [FIRST | LAST] variable or NO SKIP.
-- write
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES A.ts AS a_ts, B.ts AS b_ts
  AFTER MATCH NO SKIP
  PATTERN (A C* B)
  DEFINE A AS A.temp > 30, B AS B.temp > A.temp
);
-- rows sensor:string,a_ts:timestamp,b_ts:timestamp
-- a, 2026-01-01 10:00:00, 2026-01-01 10:08:00
-- a, 2026-01-01 10:00:00, 2026-01-01 11:20:00
-- a, 2026-01-01 10:08:00, 2026-01-01 11:20:00
-- b, 2026-01-01 10:01:00, 2026-01-01 10:30:00

-- == EPL: after match skip to current row
SELECT * FROM readings match_recognize (
  partition by sensor measures A.ts as a_ts, B.ts as b_ts
  after match skip to current row
  pattern (A C* B) define A as A.temp > 30, B as B.temp > A.temp
);
-- error
-- SQLEXT_AFTER_MATCH_SKIP: this is not a known form of AFTER MATCH
--   3 |   after match skip to current row
--     |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write SKIP PAST LAST ROW, SKIP TO NEXT ROW, SKIP TO [FIRST | LAST] variable or NO SKIP.
-- write
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES A.ts AS a_ts, B.ts AS b_ts
  AFTER MATCH NO SKIP
  PATTERN (A C* B) DEFINE A AS A.temp > 30, B AS B.temp > A.temp
);
-- rows sensor:string,a_ts:timestamp,b_ts:timestamp
-- a, 2026-01-01 10:00:00, 2026-01-01 10:08:00
-- a, 2026-01-01 10:00:00, 2026-01-01 11:20:00
-- a, 2026-01-01 10:08:00, 2026-01-01 11:20:00
-- b, 2026-01-01 10:01:00, 2026-01-01 10:30:00

-- == differs: EPL: a loop ends where the match is complete
SELECT * FROM readings match_recognize (
  partition by sensor order by ts measures A.ts as a_ts, B.ts as b_ts
  pattern (A C* B) define A as A.temp > 30, B as B.temp > A.temp
);
-- rows sensor:string,a_ts:timestamp,b_ts:timestamp
-- a, 2026-01-01 10:00:00, 2026-01-01 11:20:00
-- b, 2026-01-01 10:01:00, 2026-01-01 10:30:00
-- write
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES A.ts AS a_ts, B.ts AS b_ts
  PATTERN (A C*? B) DEFINE A AS A.temp > 30, B AS B.temp > A.temp
);
-- rows sensor:string,a_ts:timestamp,b_ts:timestamp
-- a, 2026-01-01 10:00:00, 2026-01-01 10:08:00
-- b, 2026-01-01 10:01:00, 2026-01-01 10:30:00

-- == EPL: prev with a number
SELECT * FROM readings match_recognize (
  partition by sensor order by ts measures B.ts as b_ts
  pattern (A B) define B as B.temp > prev(B.temp, 1)
);
-- rows sensor:string,b_ts:timestamp
-- a, 2026-01-01 10:08:00
-- b, 2026-01-01 10:30:00

-- == EPL: a time window
select sensor, avg(temp) from readings#time(10 min) group by sensor;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '#'.
--   1 | select sensor, avg(temp) from readings#time(10 min) group by sensor
--     |                                       ^
-- Hint: write OVER (… ROWS | RANGE …) for a window of each row, TUMBLE or EMIT for a batch: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, ts, avg(temp) OVER (PARTITION BY sensor ORDER BY ts RANGE BETWEEN INTERVAL '9:59.999999' MINUTE TO SECOND PRECEDING AND CURRENT ROW) AS mean FROM readings;
-- rows sensor:string,ts:timestamp,mean:double
-- a, 2026-01-01 10:00:00, 31.0
-- a, 2026-01-01 10:05:00, 25.5
-- a, 2026-01-01 10:08:00, 28.666666666666668
-- a, 2026-01-01 11:20:00, 36.0
-- b, 2026-01-01 10:01:00, 40.0
-- b, 2026-01-01 10:30:00, 41.0

-- == EPL: a length window
select sensor, ts, avg(temp) as mean from readings#length(2) group by sensor;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '#'.
--   1 | select sensor, ts, avg(temp) as mean from readings#length(2) group by sensor
--     |                                                   ^
-- Hint: write OVER (… ROWS | RANGE …) for a window of each row, TUMBLE or EMIT for a batch: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, ts, aggregate(filter(last_two, r -> r.sensor = sensor), 0, (s, r) -> s + r.temp, s -> s / size(filter(last_two, r -> r.sensor = sensor))) AS mean
FROM (SELECT *, array_agg(struct(sensor, temp)) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS last_two FROM readings);
-- rows sensor:string,ts:timestamp,mean:double
-- a, 2026-01-01 10:00:00, 31.0
-- a, 2026-01-01 10:05:00, 20.0
-- a, 2026-01-01 10:08:00, 27.5
-- a, 2026-01-01 11:20:00, 36.0
-- b, 2026-01-01 10:01:00, 40.0
-- b, 2026-01-01 10:30:00, 41.0

-- == EPL: a length window of each
select sensor, ts, avg(temp) as mean from readings#groupwin(sensor)#length(2) group by sensor;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '#'.
--   1 | select sensor, ts, avg(temp) as mean from readings#groupwin(sensor)#length(2) group by sensor
--     |                                                   ^
-- Hint: write OVER (… ROWS | RANGE …) for a window of each row, TUMBLE or EMIT for a batch: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, ts, avg(temp) OVER (PARTITION BY sensor ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS mean FROM readings;
-- rows sensor:string,ts:timestamp,mean:double
-- a, 2026-01-01 10:00:00, 31.0
-- a, 2026-01-01 10:05:00, 25.5
-- a, 2026-01-01 10:08:00, 27.5
-- a, 2026-01-01 11:20:00, 35.5
-- b, 2026-01-01 10:01:00, 40.0
-- b, 2026-01-01 10:30:00, 40.5

-- == EPL: a batch window whose first event is on the hour, without the groups that have become empty
select sensor, count(*) from readings#time_batch(1 hour) group by sensor;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '#'.
--   1 | select sensor, count(*) from readings#time_batch(1 hour) group by sensor
--     |                                      ^
-- Hint: write OVER (… ROWS | RANGE …) for a window of each row, TUMBLE or EMIT for a batch: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 11:00:00, 1
-- b, 2026-01-01 10:00:00, 2

-- == Siddhi: a pattern
from every e1=readings[temp > 30] -> e2=readings[sensor == e1.sensor and temp > e1.temp] within 10 min select e1.sensor insert into alerts;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | from every e1=readings[temp > 30] -> e2=readings[sensor == e1.sensor and temp > e1.temp] within 10 min select e1.sensor insert into alerts
--     |              ^
-- Hint: write FROM t MATCH_RECOGNIZE (… PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES …), with (a | b) for OR and a !-> b for an absent b: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, e1_ts
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES e1.ts AS e1_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (e1 -> e2) WITHIN INCLUSIVE INTERVAL 10 MINUTES DEFINE e1 AS temp > 30, e2 AS e2.temp > e1.temp
);
-- rows sensor:string,e1_ts:timestamp
-- a, 2026-01-01 10:00:00

-- == Siddhi: a sequence
from every e1=readings, e2=readings[temp > e1.temp]+, e3=readings[temp <= e1.temp] select e1.ts as e1_ts, e2[last].ts as e2_ts insert into rises;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | from every e1=readings, e2=readings[temp > e1.temp]+, e3=readings[temp <= e1.temp] select e1.ts as e1_ts, e2[last].ts as e2_ts insert into rises
--     |              ^
-- Hint: write FROM t MATCH_RECOGNIZE (… PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES …), with (a | b) for OR and a !-> b for an absent b: docs/migration/esper-siddhi-streams.md.
-- write
SELECT e1_ts, e2_ts
FROM readings MATCH_RECOGNIZE (
  ORDER BY ts MEASURES e1.ts AS e1_ts, LAST(e2.ts) AS e2_ts
  AFTER MATCH SKIP TO LAST e3
  PATTERN (e1 e2+ e3) DEFINE e2 AS e2.temp > e1.temp, e3 AS e3.temp <= e1.temp
);
-- rows e1_ts:timestamp,e2_ts:timestamp
-- 2026-01-01 10:00:00, 2026-01-01 10:01:00

-- == EPL: a view of earlier versions
select sensor, avg(temp) from readings.win:time(10 min) group by sensor;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near ':'.
--   1 | select sensor, avg(temp) from readings.win:time(10 min) group by sensor
--     |                                           ^
-- Hint: write OVER (… ROWS | RANGE …) for a window of each row, TUMBLE or EMIT for a batch: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, ts, avg(temp) OVER (PARTITION BY sensor ORDER BY ts RANGE BETWEEN INTERVAL '9:59.999999' MINUTE TO SECOND PRECEDING AND CURRENT ROW) AS mean FROM readings;
-- rows sensor:string,ts:timestamp,mean:double
-- a, 2026-01-01 10:00:00, 31.0
-- a, 2026-01-01 10:05:00, 25.5
-- a, 2026-01-01 10:08:00, 28.666666666666668
-- a, 2026-01-01 11:20:00, 36.0
-- b, 2026-01-01 10:01:00, 40.0
-- b, 2026-01-01 10:30:00, 41.0

-- == EPL: the last event of each
select * from readings#unique(sensor);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '#'.
--   1 | select * from readings#unique(sensor)
--     |                       ^
-- Hint: write QUALIFY row_number() OVER (PARTITION BY key ORDER BY ts DESC) = 1.
-- write
SELECT * FROM readings QUALIFY row_number() OVER (PARTITION BY sensor ORDER BY ts DESC) = 1;
-- rows sensor:string,ts:timestamp,temp:int
-- a, 2026-01-01 11:20:00, 36
-- b, 2026-01-01 10:30:00, 41

-- == EPL: prior
select sensor, temp, prior(1, temp) from readings;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function prior
--   1 | select sensor, temp, prior(1, temp) from readings
--     |                      ^^^^^^^^^^^^^^
-- Hint: write lag(x, 1) OVER (ORDER BY ts), with PARTITION BY k for the row before of each key.
-- write
SELECT sensor, temp, lag(temp) OVER (ORDER BY ts) AS before FROM readings;
-- rows sensor:string,temp:int,before:int
-- a, 20, 40
-- a, 31, null
-- a, 35, 20
-- a, 36, 41
-- b, 40, 31
-- b, 41, 35

-- == EPL: prev of the key
select sensor, temp, prev(1, temp) from readings#groupwin(sensor)#length(2);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '#'.
--   1 | select sensor, temp, prev(1, temp) from readings#groupwin(sensor)#length(2)
--     |                                                 ^
-- Hint: write OVER (… ROWS | RANGE …) for a window of each row, TUMBLE or EMIT for a batch: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, temp, lag(temp) OVER (PARTITION BY sensor ORDER BY ts) AS before FROM readings;
-- rows sensor:string,temp:int,before:int
-- a, 20, 31
-- a, 31, null
-- a, 35, 20
-- a, 36, 35
-- b, 40, null
-- b, 41, 40

-- == EPL: a context
create context PerSensor partition by sensor from readings;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'context'.
--   1 | create context PerSensor partition by sensor from readings
--     |        ^^^^^^^
-- Hint: write GROUP BY k, or PARTITION BY k in the clause or OVER.
-- write
SELECT sensor, count(*) AS n FROM readings GROUP BY sensor;
-- rows sensor:string,n:bigint
-- a, 4
-- b, 2

-- == EPL: one of two
select * from pattern [every (a=readings(temp > 40) or b=limits(upper > 40))];
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | select * from pattern [every (a=readings(temp > 40) or b=limits(upper > 40))]
--     |                       ^
-- Hint: write FROM t MATCH_RECOGNIZE (… PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES …), with (a | b) for OR and a !-> b for an absent b: docs/migration/esper-siddhi-streams.md.
-- write
SELECT ts FROM readings WHERE temp > 40 UNION ALL SELECT ts FROM limits WHERE upper > 40;
-- rows ts:timestamp
-- 2026-01-01 10:20:00
-- 2026-01-01 10:30:00

-- == Siddhi: a window of time
from readings#window.time(10 min) select sensor, avg(temp) as mean group by sensor insert into means;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '#'.
--   1 | from readings#window.time(10 min) select sensor, avg(temp) as mean group by sensor insert into means
--     |              ^
-- Hint: write OVER (… ROWS | RANGE …) for a window of each row, TUMBLE or EMIT for a batch: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, ts, avg(temp) OVER (PARTITION BY sensor ORDER BY ts RANGE BETWEEN INTERVAL '9:59.999999' MINUTE TO SECOND PRECEDING AND CURRENT ROW) AS mean FROM readings;
-- rows sensor:string,ts:timestamp,mean:double
-- a, 2026-01-01 10:00:00, 31.0
-- a, 2026-01-01 10:05:00, 25.5
-- a, 2026-01-01 10:08:00, 28.666666666666668
-- a, 2026-01-01 11:20:00, 36.0
-- b, 2026-01-01 10:01:00, 40.0
-- b, 2026-01-01 10:30:00, 41.0

-- == Siddhi: absence
from every e1=readings[temp > 30] -> not readings[sensor == e1.sensor] for 10 min select e1.sensor insert into alerts;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | from every e1=readings[temp > 30] -> not readings[sensor == e1.sensor] for 10 min select e1.sensor insert into alerts
--     |              ^
-- Hint: write FROM t MATCH_RECOGNIZE (… PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES …), with (a | b) for OR and a !-> b for an absent b: docs/migration/esper-siddhi-streams.md.
-- write
SELECT sensor, a_ts
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES a.ts AS a_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (a !-> b) WITHIN INTERVAL 10 MINUTES DEFINE a AS temp > 30, b AS true
);
-- rows sensor:string,a_ts:timestamp
-- a, 2026-01-01 10:08:00
-- a, 2026-01-01 11:20:00
-- b, 2026-01-01 10:01:00
-- b, 2026-01-01 10:30:00

-- == Siddhi: a partition
partition with (sensor of readings) begin from readings select sensor, max(temp) as m insert into highest; end;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'partition'.
--   1 | partition with (sensor of readings) begin from readings select sensor, max(temp) as m insert into highest; end
--     | ^^^^^^^^^
-- Hint: write GROUP BY k, or PARTITION BY k in the clause or OVER.
-- write
SELECT sensor, max(temp) AS m FROM readings GROUP BY sensor;
-- rows sensor:string,m:int
-- a, 36
-- b, 41

-- == EPL: methods of the events of a variable
select * from readings match_recognize (
  partition by sensor order by ts
  measures a.firstOf().temp as first, a.countOf() as n
  pattern (a+) define a as a.temp > 30
);
-- error
-- SQLEXT_UNKNOWN_COLUMN: a pattern variable has columns, and no function firstOf
--   3 |   measures a.firstOf().temp as first, a.countOf() as n
--     |            ^^^^^^^^^
-- Hint: write FIRST(a.price).
--
-- SQLEXT_UNKNOWN_COLUMN: a pattern variable has columns, and no function countOf
--   3 |   measures a.firstOf().temp as first, a.countOf() as n
--     |                                       ^^^^^^^^^
-- Hint: write COUNT(a.*), or count_if(a.price > 9).
-- write
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts
  MEASURES FIRST(a.temp) AS first, COUNT(a.*) AS n
  PATTERN (a+?) DEFINE a AS a.temp > 30
);
-- rows sensor:string,first:int,n:bigint
-- a, 31, 1
-- a, 35, 1
-- a, 36, 1
-- b, 40, 1
-- b, 41, 1
