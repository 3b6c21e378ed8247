-- What users of Esper and Siddhi, of the windows of Beam and Kafka Streams, and of pandas and Polars write.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW readings AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 10:00:00', 31), ('a', TIMESTAMP '2026-01-01 10:05:00', 20), ('a', TIMESTAMP '2026-01-01 10:08:00', 35), ('a', TIMESTAMP '2026-01-01 11:20:00', 36),
  ('b', TIMESTAMP '2026-01-01 10:01:00', 40), ('b', TIMESTAMP '2026-01-01 10:30:00', 41) AS readings(sensor, ts, temp);
CREATE OR REPLACE TEMPORARY VIEW limits AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 09:59:00', 30), ('a', TIMESTAMP '2026-01-01 10:06:00', 33), ('b', TIMESTAMP '2026-01-01 10:20:00', 50) AS limits(sensor, ts, upper);

-- == EPL: followed by
select a.ts, b.ts from pattern [every a=readings(temp > 30) -> b=readings(sensor = a.sensor and temp > a.temp)];
-- write
SELECT sensor, a_ts, b_ts
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES a.ts AS a_ts, b.ts AS b_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (a -> b) DEFINE a AS temp > 30, b AS b.temp > a.temp
);

-- == EPL: timer:within
select a.ts from pattern [every a=readings(temp > 30) -> b=readings(temp > a.temp) where timer:within(10 min)];
-- write
SELECT sensor, a_ts
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES a.ts AS a_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES DEFINE a AS temp > 30, b AS b.temp > a.temp
);

-- == EPL: an event that does not come
select a.ts from pattern [every a=readings(temp > 30) -> (timer:interval(10 min) and not b=readings(sensor = a.sensor))];
-- write
SELECT sensor, a_ts
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES a.ts AS a_ts
  PATTERN (a !-> b) WITHIN INTERVAL 10 MINUTES DEFINE a AS temp > 30, b AS true
);

-- == EPL: match_recognize with interval
SELECT * FROM readings match_recognize (
  partition by sensor measures A.ts as a_ts, B.ts as b_ts
  pattern (A B) interval 10 minutes
  define A as A.temp > 30, B as B.temp > A.temp
);
-- write
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES A.ts AS a_ts, B.ts AS b_ts
  PATTERN (A B) WITHIN INTERVAL 10 MINUTES
  DEFINE A AS A.temp > 30, B AS B.temp > A.temp
);

-- == EPL: all matches
SELECT * FROM readings match_recognize (
  partition by sensor measures A.ts as a_ts, B.ts as b_ts
  all matches
  pattern (A C* B)
  define A as A.temp > 30, B as B.temp > A.temp
);
-- write
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES A.ts AS a_ts, B.ts AS b_ts
  AFTER MATCH NO SKIP
  PATTERN (A C* B)
  DEFINE A AS A.temp > 30, B AS B.temp > A.temp
);

-- == EPL: after match skip to current row
SELECT * FROM readings match_recognize (
  partition by sensor order by ts measures A.ts as a_ts
  after match skip to current row
  pattern (A B) define B as B.temp > A.temp
);
-- write
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES A.ts AS a_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B) DEFINE B AS B.temp > A.temp
);

-- == EPL: prev with a number
SELECT * FROM readings match_recognize (
  partition by sensor order by ts measures B.ts as b_ts
  pattern (A B) define B as B.temp > prev(B.temp, 1)
);

-- == EPL: a time window
select sensor, avg(temp) from readings#time(10 min) group by sensor;
-- write
SELECT sensor, ts, avg(temp) OVER (PARTITION BY sensor ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW) AS mean FROM readings;

-- == EPL: a length window
select sensor, avg(temp) from readings#length(2) group by sensor;
-- write
SELECT sensor, ts, avg(temp) OVER (PARTITION BY sensor ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS mean FROM readings;

-- == EPL: a batch window
select sensor, count(*) from readings#time_batch(1 hour) group by sensor;
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;

-- == Siddhi: a pattern
from every e1=readings[temp > 30] -> e2=readings[temp > e1.temp] within 10 min select e1.sensor insert into alerts;
-- write
SELECT sensor, e1_ts
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES e1.ts AS e1_ts
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (e1 -> e2) WITHIN INTERVAL 10 MINUTES DEFINE e1 AS temp > 30, e2 AS e2.temp > e1.temp
);

-- == Siddhi: a sequence
from every e1=readings, e2=readings[temp > e1.temp]+ select e1.sensor insert into rises;
-- write
SELECT sensor, e1_ts, n
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES e1.ts AS e1_ts, COUNT(e2.*) AS n
  PATTERN (e1 e2+) DEFINE e2 AS e2.temp > e1.temp
);

-- == Beam SQL: TUMBLE in GROUP BY
SELECT sensor, count(*) AS n FROM readings GROUP BY sensor, TUMBLE(ts, INTERVAL '1' HOUR);
-- write
SELECT sensor, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL '1' HOUR) GROUP BY sensor, window_start, window_end;

-- == Beam: fixed windows
readings | beam.WindowInto(beam.window.FixedWindows(3600)) | beam.combiners.Count.PerKey();
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;

-- == Beam: sliding windows
readings | beam.WindowInto(beam.window.SlidingWindows(3600, 1800)) | beam.combiners.Count.PerKey();
-- write
SELECT sensor, window_start, count(*) AS n FROM HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL 30 MINUTES, INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;

-- == ksqlDB: a tumbling window
SELECT sensor, count(*) AS n FROM readings WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY sensor;
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;

-- == ksqlDB: a session window
SELECT sensor, count(*) AS n FROM readings WINDOW SESSION (30 MINUTES) GROUP BY sensor;
-- write
SELECT sensor, window_start, count(*) AS n FROM SESSION(TABLE readings PARTITION BY sensor, DESCRIPTOR(ts), INTERVAL 30 MINUTES) GROUP BY sensor, window_start, window_end;

-- == Kafka Streams: windowedBy
readings.groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofHours(1))).count();
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;

-- == pandas: merge_asof
pd.merge_asof(readings, limits, on='ts', by='sensor');
-- write
SELECT r.sensor, r.ts, temp, upper FROM readings r LEFT ASOF JOIN limits l MATCH_CONDITION (r.ts >= l.ts) ON r.sensor = l.sensor;

-- == pandas: merge_asof forward, with a tolerance
pd.merge_asof(readings, limits, on='ts', by='sensor', direction='forward', tolerance=pd.Timedelta('20min'));
-- write
SELECT r.sensor, r.ts, temp, upper FROM readings r LEFT ASOF JOIN limits l MATCH_CONDITION (r.ts <= l.ts) ON r.sensor = l.sensor AND l.ts <= r.ts + INTERVAL 20 MINUTES;

-- == pandas: a rolling window of time
readings.groupby('sensor').rolling('10min', on='ts')['temp'].mean();
-- write
SELECT sensor, ts, avg(temp) OVER (PARTITION BY sensor ORDER BY ts RANGE BETWEEN INTERVAL '9:59.999999' MINUTE TO SECOND PRECEDING AND CURRENT ROW) AS mean FROM readings;

-- == Polars: join_asof
readings.join_asof(limits, on='ts', by='sensor', strategy='backward');
-- write
SELECT r.sensor, r.ts, temp, upper FROM readings r LEFT ASOF JOIN limits l MATCH_CONDITION (r.ts >= l.ts) ON r.sensor = l.sensor;

-- == Polars: group_by_dynamic
readings.group_by_dynamic('ts', every='1h', group_by='sensor').agg(pl.len());
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;
