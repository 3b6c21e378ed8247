-- What users of the windows of Beam, ksqlDB and Kafka Streams write.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW readings AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 10:00:00', 31), ('a', TIMESTAMP '2026-01-01 10:05:00', 20), ('a', TIMESTAMP '2026-01-01 10:08:00', 35), ('a', TIMESTAMP '2026-01-01 11:20:00', 36),
  ('b', TIMESTAMP '2026-01-01 10:01:00', 40), ('b', TIMESTAMP '2026-01-01 10:30:00', 41) AS readings(sensor, ts, temp);
CREATE OR REPLACE TEMPORARY VIEW limits AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 09:59:00', 30), ('a', TIMESTAMP '2026-01-01 10:06:00', 33), ('b', TIMESTAMP '2026-01-01 10:20:00', 50) AS limits(sensor, ts, upper);

-- == Beam SQL: TUMBLE in GROUP BY
SELECT sensor, count(*) AS n FROM readings GROUP BY sensor, TUMBLE(ts, INTERVAL '1' HOUR);
-- error
-- SQLEXT_MISPLACED_CLAUSE: TUMBLE is a relation of FROM
--   1 | SELECT sensor, count(*) AS n FROM readings GROUP BY sensor, TUMBLE(ts, INTERVAL '1' HOUR)
--     |                                                             ^^^^^^
-- Hint: write GROUP BY window_start, window_end after FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES).
-- write
SELECT sensor, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL '1' HOUR) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,n:bigint
-- a, 1
-- a, 3
-- b, 2

-- == Beam: fixed windows
readings | beam.WindowInto(beam.window.FixedWindows(3600)) | beam.combiners.Count.PerKey();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings | beam.WindowInto(beam.window.FixedWindows(3600)) | beam.combiners.Count.PerKey()
--     | ^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 11:00:00, 1
-- b, 2026-01-01 10:00:00, 2

-- == Beam: sliding windows
readings | beam.WindowInto(beam.window.SlidingWindows(3600, 1800)) | beam.combiners.Count.PerKey();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings | beam.WindowInto(beam.window.SlidingWindows(3600, 1800)) | beam.combiners.Count.PerKey()
--     | ^^^^^^^^
-- Hint: write FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL 30 MINUTES, INTERVAL 1 HOUR) GROUP BY window_start.
-- write
SELECT sensor, window_start, count(*) AS n FROM HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL 30 MINUTES, INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 09:30:00, 3
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 10:30:00, 1
-- a, 2026-01-01 11:00:00, 1
-- b, 2026-01-01 09:30:00, 1
-- b, 2026-01-01 10:00:00, 2
-- b, 2026-01-01 10:30:00, 1

-- == ksqlDB: a tumbling window
SELECT sensor, count(*) AS n FROM readings WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY sensor;
-- error
-- SQLEXT_MISPLACED_CLAUSE: windows are functions in FROM, not WINDOW TUMBLING
--   1 | SELECT sensor, count(*) AS n FROM readings WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY sensor
--     |                                            ^^^^^^^^^^^^^^^
-- Hint: write GROUP BY window_start, window_end after FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES).
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 11:00:00, 1
-- b, 2026-01-01 10:00:00, 2

-- == ksqlDB: a session window
SELECT sensor, count(*) AS n FROM readings WINDOW SESSION (30 MINUTES) GROUP BY sensor;
-- error
-- SQLEXT_MISPLACED_CLAUSE: windows are functions in FROM, not WINDOW SESSION
--   1 | SELECT sensor, count(*) AS n FROM readings WINDOW SESSION (30 MINUTES) GROUP BY sensor
--     |                                            ^^^^^^^^^^^^^^
-- Hint: write GROUP BY window_start, window_end after FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' MINUTES).
-- write
SELECT sensor, window_start, count(*) AS n FROM SESSION(TABLE readings PARTITION BY sensor, DESCRIPTOR(ts), INTERVAL 30 MINUTES) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 11:20:00, 1
-- b, 2026-01-01 10:01:00, 2

-- == Kafka Streams: windowedBy
readings.groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofHours(1))).count();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofHours(1))).count()
--     | ^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 11:00:00, 1
-- b, 2026-01-01 10:00:00, 2

-- == Beam SQL: HOP in GROUP BY
SELECT sensor, HOP_START(ts, INTERVAL '30' MINUTE, INTERVAL '1' HOUR) AS s, count(*) AS n FROM readings GROUP BY sensor, HOP(ts, INTERVAL '30' MINUTE, INTERVAL '1' HOUR);
-- error
-- SQLEXT_MISPLACED_CLAUSE: HOP is a relation of FROM
--   1 | SELECT sensor, HOP_START(ts, INTERVAL '30' MINUTE, INTERVAL '1' HOUR) AS s, count(*) AS n FROM readings GROUP BY sensor, HOP(ts, INTERVAL '30' MINUTE, INTERVAL '1' HOUR)
--     |                                                                                                                          ^^^
-- Hint: write GROUP BY window_start, window_end after FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '1' HOUR), the slide before the size.
-- write
SELECT sensor, window_start AS s, count(*) AS n FROM HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL '30' MINUTE, INTERVAL '1' HOUR) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,s:timestamp,n:bigint
-- a, 2026-01-01 09:30:00, 3
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 10:30:00, 1
-- a, 2026-01-01 11:00:00, 1
-- b, 2026-01-01 09:30:00, 1
-- b, 2026-01-01 10:00:00, 2
-- b, 2026-01-01 10:30:00, 1

-- == Beam SQL: SESSION in GROUP BY
SELECT sensor, count(*) AS n FROM readings GROUP BY sensor, SESSION(ts, INTERVAL '30' MINUTE);
-- error
-- SQLEXT_MISPLACED_CLAUSE: SESSION is a relation of FROM
--   1 | SELECT sensor, count(*) AS n FROM readings GROUP BY sensor, SESSION(ts, INTERVAL '30' MINUTE)
--     |                                                             ^^^^^^^
-- Hint: write GROUP BY window_start, window_end after FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' MINUTES).
-- write
SELECT sensor, count(*) AS n FROM SESSION(TABLE readings PARTITION BY sensor, DESCRIPTOR(ts), INTERVAL '30' MINUTE) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,n:bigint
-- a, 1
-- a, 3
-- b, 2

-- == Beam: sessions
readings | beam.WindowInto(beam.window.Sessions(1800)) | beam.combiners.Count.PerKey();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings | beam.WindowInto(beam.window.Sessions(1800)) | beam.combiners.Count.PerKey()
--     | ^^^^^^^^
-- Hint: write FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL 30 MINUTES) GROUP BY k, window_start, window_end.
-- write
SELECT sensor, window_start, count(*) AS n FROM SESSION(TABLE readings PARTITION BY sensor, DESCRIPTOR(ts), INTERVAL 30 MINUTES) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 11:20:00, 1
-- b, 2026-01-01 10:01:00, 2

-- == ksqlDB: a hopping window
SELECT sensor, count(*) AS n FROM readings WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 30 MINUTES) GROUP BY sensor EMIT CHANGES;
-- error
-- SQLEXT_MISPLACED_CLAUSE: windows are functions in FROM, not WINDOW HOPPING
--   1 | SELECT sensor, count(*) AS n FROM readings WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 30 MINUTES) GROUP BY sensor EMIT CHANGES
--     |                                            ^^^^^^^^^^^^^^
-- Hint: write GROUP BY window_start, window_end after FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '1' HOUR), the slide before the size.
-- write
SELECT sensor, window_start, count(*) AS n FROM HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL 30 MINUTES, INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 09:30:00, 3
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 10:30:00, 1
-- a, 2026-01-01 11:00:00, 1
-- b, 2026-01-01 09:30:00, 1
-- b, 2026-01-01 10:00:00, 2
-- b, 2026-01-01 10:30:00, 1

-- == ksqlDB: EMIT CHANGES
SELECT sensor, temp FROM readings WHERE temp > 40 EMIT CHANGES;
-- error
-- SQLEXT_EMIT_SYNTAX: there is no EMIT CHANGES
--   1 | SELECT sensor, temp FROM readings WHERE temp > 40 EMIT CHANGES
--     |                                                   ^^^^^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) … EMIT EVERY 1 ROW.
-- write
SELECT sensor, temp FROM readings WHERE temp > 40;
-- rows sensor:string,temp:int
-- b, 41

-- == ksqlDB: EMIT FINAL
SELECT sensor, max(temp) AS m FROM readings GROUP BY sensor EMIT FINAL;
-- error
-- SQLEXT_EMIT_SYNTAX: there is no EMIT FINAL
--   1 | SELECT sensor, max(temp) AS m FROM readings GROUP BY sensor EMIT FINAL
--     |                                                             ^^^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) … EMIT AFTER WATERMARK, or leave EMIT out.
-- write
SELECT sensor, max(temp) AS m FROM readings GROUP BY sensor;
-- rows sensor:string,m:int
-- a, 36
-- b, 41

-- == ksqlDB: a join of streams
SELECT r.sensor, r.ts, l.upper FROM readings r JOIN limits l WITHIN 10 MINUTES ON r.sensor = l.sensor;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'WITHIN'.
--   1 | SELECT r.sensor, r.ts, l.upper FROM readings r JOIN limits l WITHIN 10 MINUTES ON r.sensor = l.sensor
--     |                                                              ^^^^^^
-- Hint: write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts.
-- write
SELECT r.sensor, r.ts, l.upper FROM readings r INTERVAL JOIN limits l ON r.sensor = l.sensor AND l.ts BETWEEN r.ts - INTERVAL 10 MINUTES AND r.ts + INTERVAL 10 MINUTES;
-- rows sensor:string,ts:timestamp,upper:int
-- a, 2026-01-01 10:00:00, 30
-- a, 2026-01-01 10:00:00, 33
-- a, 2026-01-01 10:05:00, 30
-- a, 2026-01-01 10:05:00, 33
-- a, 2026-01-01 10:08:00, 30
-- a, 2026-01-01 10:08:00, 33
-- b, 2026-01-01 10:30:00, 50

-- == ksqlDB: LATEST_BY_OFFSET
SELECT sensor, LATEST_BY_OFFSET(temp) AS temp FROM readings GROUP BY sensor;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function LATEST_BY_OFFSET
--   1 | SELECT sensor, LATEST_BY_OFFSET(temp) AS temp FROM readings GROUP BY sensor
--     |                ^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write max_by(x, ts).
-- write
SELECT sensor, max_by(temp, ts) AS temp FROM readings GROUP BY sensor;
-- rows sensor:string,temp:int
-- a, 36
-- b, 41

-- == ksqlDB: a stream over a topic
CREATE STREAM pageviews (viewtime BIGINT, page STRING) WITH (KAFKA_TOPIC = 'pageviews', VALUE_FORMAT = 'JSON');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'STREAM'.
--   1 | CREATE STREAM pageviews (viewtime BIGINT, page STRING) WITH (KAFKA_TOPIC = 'pageviews', VALUE_FORMAT = 'JSON')
--     |        ^^^^^^
-- Hint: register the topic by spark.readStream, and write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 5 SECONDS.
-- write
SELECT count(*) AS n FROM readings;
-- rows n:bigint
-- 6

-- == Kafka Streams: a join of streams
readings.join(limits, joiner, JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofMinutes(10)));
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.join(limits, joiner, JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofMinutes(10)))
--     | ^^^^^^^^
-- Hint: write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts.
-- write
SELECT r.sensor, r.ts, l.upper FROM readings r INTERVAL JOIN limits l ON r.sensor = l.sensor AND l.ts BETWEEN r.ts - INTERVAL 10 MINUTES AND r.ts + INTERVAL 10 MINUTES;
-- rows sensor:string,ts:timestamp,upper:int
-- a, 2026-01-01 10:00:00, 30
-- a, 2026-01-01 10:00:00, 33
-- a, 2026-01-01 10:05:00, 30
-- a, 2026-01-01 10:05:00, 33
-- a, 2026-01-01 10:08:00, 30
-- a, 2026-01-01 10:08:00, 33
-- b, 2026-01-01 10:30:00, 50

-- == Kafka Streams: sessions
readings.groupByKey().windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofMinutes(30))).count();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.groupByKey().windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofMinutes(30))).count()
--     | ^^^^^^^^
-- Hint: write FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL 30 MINUTES) GROUP BY k, window_start, window_end.
-- write
SELECT sensor, window_start, count(*) AS n FROM SESSION(TABLE readings PARTITION BY sensor, DESCRIPTOR(ts), INTERVAL 30 MINUTES) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 11:20:00, 1
-- b, 2026-01-01 10:01:00, 2

-- == Kafka Streams: the final result of a window
readings.groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofHours(1))).count().suppress(Suppressed.untilWindowCloses(unbounded()));
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofHours(1))).count().suppress(Suppressed.untilWindowCloses(unbounded()))
--     | ^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end EMIT AFTER WATERMARK;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 11:00:00, 1
-- b, 2026-01-01 10:00:00, 2

-- == Beam SQL: EMIT STREAM
SELECT sensor, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL '1' HOUR)
GROUP BY sensor, window_start, window_end EMIT STREAM AFTER WATERMARK;
-- error
-- SQLEXT_EMIT_SYNTAX: there is no EMIT STREAM
--   2 | GROUP BY sensor, window_start, window_end EMIT STREAM AFTER WATERMARK
--     |                                           ^^^^^^^^^^^
-- Hint: write EMIT AFTER WATERMARK, or leave EMIT out; TUMBLE(TABLE STREAM t WATERMARK …, …) reads a stream.
-- write
SELECT sensor, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL '1' HOUR)
GROUP BY sensor, window_start, window_end EMIT AFTER WATERMARK;
-- rows sensor:string,n:bigint
-- a, 1
-- a, 3
-- b, 2
