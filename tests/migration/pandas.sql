-- What users of pandas and Polars write: as-of joins, rolling and dynamic windows, shifts and fills.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW readings AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 10:00:00', 31), ('a', TIMESTAMP '2026-01-01 10:05:00', 20), ('a', TIMESTAMP '2026-01-01 10:08:00', 35), ('a', TIMESTAMP '2026-01-01 11:20:00', 36),
  ('b', TIMESTAMP '2026-01-01 10:01:00', 40), ('b', TIMESTAMP '2026-01-01 10:30:00', 41) AS readings(sensor, ts, temp);
CREATE OR REPLACE TEMPORARY VIEW limits AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 09:59:00', 30), ('a', TIMESTAMP '2026-01-01 10:06:00', 33), ('b', TIMESTAMP '2026-01-01 10:20:00', 50) AS limits(sensor, ts, upper);

-- == pandas: merge_asof
pd.merge_asof(readings, limits, on='ts', by='sensor');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'pd'.
--   1 | pd.merge_asof(readings, limits, on='ts', by='sensor')
--     | ^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT r.sensor, r.ts, temp, upper FROM readings r LEFT ASOF JOIN limits l MATCH_CONDITION (r.ts >= l.ts) ON r.sensor = l.sensor;
-- rows sensor:string,ts:timestamp,temp:int,upper:int
-- a, 2026-01-01 10:00:00, 31, 30
-- a, 2026-01-01 10:05:00, 20, 30
-- a, 2026-01-01 10:08:00, 35, 33
-- a, 2026-01-01 11:20:00, 36, 33
-- b, 2026-01-01 10:01:00, 40, null
-- b, 2026-01-01 10:30:00, 41, 50

-- == pandas: merge_asof forward, with a tolerance
pd.merge_asof(readings, limits, on='ts', by='sensor', direction='forward', tolerance=pd.Timedelta('20min'));
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'pd'.
--   1 | pd.merge_asof(readings, limits, on='ts', by='sensor', direction='forward', tolerance=pd.Timedelta('20min'))
--     | ^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT r.sensor, r.ts, temp, upper FROM readings r LEFT ASOF JOIN limits l MATCH_CONDITION (r.ts <= l.ts) WITHIN INTERVAL 20 MINUTES ON r.sensor = l.sensor;
-- rows sensor:string,ts:timestamp,temp:int,upper:int
-- a, 2026-01-01 10:00:00, 31, 33
-- a, 2026-01-01 10:05:00, 20, 33
-- a, 2026-01-01 10:08:00, 35, null
-- a, 2026-01-01 11:20:00, 36, null
-- b, 2026-01-01 10:01:00, 40, 50
-- b, 2026-01-01 10:30:00, 41, null

-- == pandas: a rolling window of time
readings.groupby('sensor').rolling('10min', on='ts')['temp'].mean();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.groupby('sensor').rolling('10min', on='ts')['temp'].mean()
--     | ^^^^^^^^
-- Hint: write avg(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW).
-- write
SELECT sensor, ts, avg(temp) OVER (PARTITION BY sensor ORDER BY ts RANGE BETWEEN INTERVAL '9:59.999999' MINUTE TO SECOND PRECEDING AND CURRENT ROW) AS mean FROM readings;
-- rows sensor:string,ts:timestamp,mean:double
-- a, 2026-01-01 10:00:00, 31.0
-- a, 2026-01-01 10:05:00, 25.5
-- a, 2026-01-01 10:08:00, 28.666666666666668
-- a, 2026-01-01 11:20:00, 36.0
-- b, 2026-01-01 10:01:00, 40.0
-- b, 2026-01-01 10:30:00, 41.0

-- == Polars: join_asof
readings.join_asof(limits, on='ts', by='sensor', strategy='nearest', tolerance='10m');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.join_asof(limits, on='ts', by='sensor', strategy='nearest', tolerance='10m')
--     | ^^^^^^^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT r.sensor, r.ts, temp, upper FROM readings r LEFT ASOF JOIN limits l MATCH_CONDITION (NEAREST (r.ts, l.ts)) WITHIN INTERVAL 10 MINUTES ON r.sensor = l.sensor;
-- rows sensor:string,ts:timestamp,temp:int,upper:int
-- a, 2026-01-01 10:00:00, 31, 30
-- a, 2026-01-01 10:05:00, 20, 33
-- a, 2026-01-01 10:08:00, 35, 33
-- a, 2026-01-01 11:20:00, 36, null
-- b, 2026-01-01 10:01:00, 40, null
-- b, 2026-01-01 10:30:00, 41, 50

-- == Polars: group_by_dynamic
readings.group_by_dynamic('ts', every='1h', group_by='sensor').agg(pl.len());
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.group_by_dynamic('ts', every='1h', group_by='sensor').agg(pl.len())
--     | ^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT sensor, window_start, count(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY sensor, window_start, window_end;
-- rows sensor:string,window_start:timestamp,n:bigint
-- a, 2026-01-01 10:00:00, 3
-- a, 2026-01-01 11:00:00, 1
-- b, 2026-01-01 10:00:00, 2

-- == pandas: shift
readings.groupby('sensor')['temp'].shift(1);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.groupby('sensor')['temp'].shift(1)
--     | ^^^^^^^^
-- Hint: write lag(x), lead(x) or x - lag(x) OVER (PARTITION BY … ORDER BY …).
-- write
SELECT sensor, ts, lag(temp) OVER (PARTITION BY sensor ORDER BY ts) AS temp FROM readings;
-- rows sensor:string,ts:timestamp,temp:int
-- a, 2026-01-01 10:00:00, null
-- a, 2026-01-01 10:05:00, 31
-- a, 2026-01-01 10:08:00, 20
-- a, 2026-01-01 11:20:00, 35
-- b, 2026-01-01 10:01:00, null
-- b, 2026-01-01 10:30:00, 40

-- == pandas: diff
readings.groupby('sensor')['temp'].diff();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.groupby('sensor')['temp'].diff()
--     | ^^^^^^^^
-- Hint: write lag(x), lead(x) or x - lag(x) OVER (PARTITION BY … ORDER BY …).
-- write
SELECT sensor, ts, temp - lag(temp) OVER (PARTITION BY sensor ORDER BY ts) AS temp FROM readings;
-- rows sensor:string,ts:timestamp,temp:int
-- a, 2026-01-01 10:00:00, null
-- a, 2026-01-01 10:05:00, -11
-- a, 2026-01-01 10:08:00, 15
-- a, 2026-01-01 11:20:00, 1
-- b, 2026-01-01 10:01:00, null
-- b, 2026-01-01 10:30:00, 1

-- == pandas: resample
readings.resample('1h', on='ts')['temp'].mean();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.resample('1h', on='ts')['temp'].mean()
--     | ^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT window_start, avg(temp) AS temp FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end;
-- rows window_start:timestamp,temp:double
-- 2026-01-01 10:00:00, 33.4
-- 2026-01-01 11:00:00, 36.0

-- == pandas: the last row of each
readings.drop_duplicates('sensor', keep='last');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.drop_duplicates('sensor', keep='last')
--     | ^^^^^^^^
-- Hint: write QUALIFY row_number() OVER (PARTITION BY key ORDER BY ts DESC) = 1.
-- write
SELECT * FROM readings QUALIFY row_number() OVER (PARTITION BY sensor ORDER BY ts DESC) = 1;
-- rows sensor:string,ts:timestamp,temp:int
-- a, 2026-01-01 11:20:00, 36
-- b, 2026-01-01 10:30:00, 41

-- == pandas: cumsum
readings.groupby('sensor')['temp'].cumsum();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.groupby('sensor')['temp'].cumsum()
--     | ^^^^^^^^
-- Hint: write sum(x) OVER (PARTITION BY k ORDER BY ts).
-- write
SELECT sensor, ts, sum(temp) OVER (PARTITION BY sensor ORDER BY ts) AS temp FROM readings;
-- rows sensor:string,ts:timestamp,temp:bigint
-- a, 2026-01-01 10:00:00, 31
-- a, 2026-01-01 10:05:00, 51
-- a, 2026-01-01 10:08:00, 86
-- a, 2026-01-01 11:20:00, 122
-- b, 2026-01-01 10:01:00, 40
-- b, 2026-01-01 10:30:00, 81

-- == pandas: ffill
readings.sort_values('ts')['temp'].where(readings['temp'] > 30).ffill();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.sort_values('ts')['temp'].where(readings['temp'] > 30).ffill()
--     | ^^^^^^^^
-- Hint: write last_value(x) IGNORE NULLS OVER (PARTITION BY k ORDER BY ts).
-- write
SELECT sensor, ts, last_value(CASE WHEN temp > 30 THEN temp END) IGNORE NULLS OVER (ORDER BY ts) AS temp FROM readings;
-- rows sensor:string,ts:timestamp,temp:int
-- a, 2026-01-01 10:00:00, 31
-- a, 2026-01-01 10:05:00, 40
-- a, 2026-01-01 10:08:00, 35
-- a, 2026-01-01 11:20:00, 36
-- b, 2026-01-01 10:01:00, 40
-- b, 2026-01-01 10:30:00, 41

-- == pandas: nlargest
readings.nlargest(2, 'temp');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.nlargest(2, 'temp')
--     | ^^^^^^^^
-- Hint: write ORDER BY x DESC LIMIT n.
-- write
SELECT * FROM readings ORDER BY temp DESC LIMIT 2;
-- rows sensor:string,ts:timestamp,temp:int
-- b, 2026-01-01 10:01:00, 40
-- b, 2026-01-01 10:30:00, 41

-- == Polars: join_asof forward
readings.join_asof(limits, on='ts', by='sensor', strategy='forward');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.join_asof(limits, on='ts', by='sensor', strategy='forward')
--     | ^^^^^^^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT r.sensor, r.ts, temp, upper FROM readings r LEFT ASOF JOIN limits l MATCH_CONDITION (r.ts <= l.ts) ON r.sensor = l.sensor;
-- rows sensor:string,ts:timestamp,temp:int,upper:int
-- a, 2026-01-01 10:00:00, 31, 33
-- a, 2026-01-01 10:05:00, 20, 33
-- a, 2026-01-01 10:08:00, 35, null
-- a, 2026-01-01 11:20:00, 36, null
-- b, 2026-01-01 10:01:00, 40, 50
-- b, 2026-01-01 10:30:00, 41, null

-- == Polars: rolling
readings.rolling('ts', period='10m', group_by='sensor').agg(pl.col('temp').mean());
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.rolling('ts', period='10m', group_by='sensor').agg(pl.col('temp').mean())
--     | ^^^^^^^^
-- Hint: write avg(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW).
-- write
SELECT sensor, ts, avg(temp) OVER (PARTITION BY sensor ORDER BY ts RANGE BETWEEN INTERVAL '9:59.999999' MINUTE TO SECOND PRECEDING AND CURRENT ROW) AS temp FROM readings;
-- rows sensor:string,ts:timestamp,temp:double
-- a, 2026-01-01 10:00:00, 31.0
-- a, 2026-01-01 10:05:00, 25.5
-- a, 2026-01-01 10:08:00, 28.666666666666668
-- a, 2026-01-01 11:20:00, 36.0
-- b, 2026-01-01 10:01:00, 40.0
-- b, 2026-01-01 10:30:00, 41.0

-- == Polars: over
readings.with_columns(pl.col('temp').max().over('sensor'));
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.with_columns(pl.col('temp').max().over('sensor'))
--     | ^^^^^^^^
-- Hint: write max(x) OVER (PARTITION BY k).
-- write
SELECT sensor, ts, max(temp) OVER (PARTITION BY sensor) AS temp FROM readings;
-- rows sensor:string,ts:timestamp,temp:int
-- a, 2026-01-01 10:00:00, 36
-- a, 2026-01-01 10:05:00, 36
-- a, 2026-01-01 10:08:00, 36
-- a, 2026-01-01 11:20:00, 36
-- b, 2026-01-01 10:01:00, 41
-- b, 2026-01-01 10:30:00, 41

-- == Polars: join_where
readings.join_where(limits, pl.col('sensor') == pl.col('sensor_right'), pl.col('ts') >= pl.col('ts_right'));
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.join_where(limits, pl.col('sensor') == pl.col('sensor_right'), pl.col('ts') >= pl.col('ts_right'))
--     | ^^^^^^^^
-- Hint: write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts.
-- write
SELECT r.sensor, r.ts, l.upper FROM readings r INTERVAL JOIN limits l ON r.sensor = l.sensor AND l.ts BETWEEN r.ts - INTERVAL 1 DAY AND r.ts;
-- rows sensor:string,ts:timestamp,upper:int
-- a, 2026-01-01 10:00:00, 30
-- a, 2026-01-01 10:05:00, 30
-- a, 2026-01-01 10:08:00, 30
-- a, 2026-01-01 10:08:00, 33
-- a, 2026-01-01 11:20:00, 30
-- a, 2026-01-01 11:20:00, 33
-- b, 2026-01-01 10:30:00, 50

-- == Polars: sessions by a gap
readings.with_columns((pl.col('ts').diff() > pl.duration(minutes=30)).cum_sum().over('sensor'));
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.with_columns((pl.col('ts').diff() > pl.duration(minutes=30)).cum_sum().over('sensor'))
--     | ^^^^^^^^
-- Hint: write MATCH_NUMBER() of PATTERN (a same*), or sum(x) OVER (…).
-- write
SELECT sensor, ts, session
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES MATCH_NUMBER() AS session
  ALL ROWS PER MATCH PATTERN (a b*) DEFINE b AS ts <= PREV(ts) + INTERVAL 30 MINUTES
);
-- rows sensor:string,ts:timestamp,session:bigint
-- a, 2026-01-01 10:00:00, 1
-- a, 2026-01-01 10:05:00, 1
-- a, 2026-01-01 10:08:00, 1
-- a, 2026-01-01 11:20:00, 2
-- b, 2026-01-01 10:01:00, 1
-- b, 2026-01-01 10:30:00, 1
