-- What users of pandas and Polars write: as-of joins, rolling and dynamic windows, shifts and fills. The rows are those
-- of pandas 3.1.1 and Polars 2.1.0. Rows of a DataFrame have an order: the column n of `repeated` is that order.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW readings AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 10:00:00', 31), ('a', TIMESTAMP '2026-01-01 10:05:00', 20), ('a', TIMESTAMP '2026-01-01 10:08:00', 35), ('a', TIMESTAMP '2026-01-01 11:20:00', 36),
  ('b', TIMESTAMP '2026-01-01 10:01:00', 40), ('b', TIMESTAMP '2026-01-01 10:30:00', 41) AS readings(sensor, ts, temp);
CREATE OR REPLACE TEMPORARY VIEW limits AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 09:59:00', 30), ('a', TIMESTAMP '2026-01-01 10:06:00', 33), ('b', TIMESTAMP '2026-01-01 10:20:00', 50) AS limits(sensor, ts, upper);
CREATE OR REPLACE TEMPORARY VIEW repeated AS
SELECT * FROM VALUES (1, 'a', TIMESTAMP '2026-01-01 10:00:00', 30), (2, 'a', TIMESTAMP '2026-01-01 10:00:00', 28), (3, 'a', TIMESTAMP '2026-01-01 10:10:00', 33), (4, 'a', TIMESTAMP '2026-01-01 10:10:00', 31), (5, NULL, TIMESTAMP '2026-01-01 10:00:00', 70) AS repeated(n, sensor, ts, upper);
CREATE OR REPLACE TEMPORARY VIEW probes AS
SELECT * FROM VALUES ('a', TIMESTAMP '2026-01-01 10:05:00', 1.0D), ('a', TIMESTAMP '2026-01-01 10:20:00', 2.0D), (NULL, TIMESTAMP '2026-01-01 10:05:00', 4.0D) AS probes(sensor, ts, temp);

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

-- == pandas: merge_asof with equal times on the right, and a missing key
pd.merge_asof(probes, repeated, on='ts', by='sensor');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'pd'.
--   1 | pd.merge_asof(probes, repeated, on='ts', by='sensor')
--     | ^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT p.sensor, p.ts, upper FROM probes p LEFT ASOF JOIN (SELECT * FROM repeated QUALIFY row_number() OVER (PARTITION BY sensor, ts ORDER BY n DESC) = 1) l MATCH_CONDITION (p.ts >= l.ts) ON p.sensor <=> l.sensor;
-- rows sensor:string,ts:timestamp,upper:int
-- a, 2026-01-01 10:05:00, 28
-- a, 2026-01-01 10:20:00, 31
-- null, 2026-01-01 10:05:00, 70

-- == pandas: merge_asof forward with equal times on the right
pd.merge_asof(probes, repeated, on='ts', by='sensor', direction='forward');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'pd'.
--   1 | pd.merge_asof(probes, repeated, on='ts', by='sensor', direction='forward')
--     | ^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT p.sensor, p.ts, upper FROM probes p LEFT ASOF JOIN (SELECT * FROM repeated QUALIFY row_number() OVER (PARTITION BY sensor, ts ORDER BY n) = 1) l MATCH_CONDITION (p.ts <= l.ts) ON p.sensor <=> l.sensor;
-- rows sensor:string,ts:timestamp,upper:int
-- a, 2026-01-01 10:05:00, 33
-- a, 2026-01-01 10:20:00, null
-- null, 2026-01-01 10:05:00, null

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

-- == pandas: a rolling window of time with equal times
repeated.groupby('sensor').rolling('10min', on='ts')['upper'].sum();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'repeated'.
--   1 | repeated.groupby('sensor').rolling('10min', on='ts')['upper'].sum()
--     | ^^^^^^^^
-- Hint: write avg(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW).
-- write
SELECT n, aggregate(filter(array_agg(struct(n, upper)) OVER (PARTITION BY sensor ORDER BY ts RANGE BETWEEN INTERVAL '9:59.999999' MINUTE TO SECOND PRECEDING AND CURRENT ROW), r -> r.n <= n), 0, (s, r) -> s + r.upper) AS upper FROM repeated WHERE sensor IS NOT NULL;
-- rows n:int,upper:int
-- 1, 30
-- 2, 58
-- 3, 33
-- 4, 64

-- == Polars: a rolling window of time with equal times
repeated.drop_nulls('sensor').rolling('ts', period='10m', group_by='sensor').agg(pl.col('upper').sum());
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'repeated'.
--   1 | repeated.drop_nulls('sensor').rolling('ts', period='10m', group_by='sensor').agg(pl.col('upper').sum())
--     | ^^^^^^^^
-- Hint: write avg(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW).
-- write
SELECT n, sum(upper) OVER (PARTITION BY sensor ORDER BY ts RANGE BETWEEN INTERVAL '9:59.999999' MINUTE TO SECOND PRECEDING AND CURRENT ROW) AS upper FROM repeated WHERE sensor IS NOT NULL;
-- rows n:int,upper:bigint
-- 1, 58
-- 2, 58
-- 3, 64
-- 4, 64

-- == Polars: join_asof
readings.join_asof(limits, on='ts', by='sensor', strategy='nearest', tolerance='10m');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.join_asof(limits, on='ts', by='sensor', strategy='nearest', tolerance='10m')
--     | ^^^^^^^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT r.sensor, r.ts, temp, upper FROM readings r LEFT ASOF JOIN limits l MATCH_CONDITION (NEAREST (-unix_micros(r.ts), -unix_micros(l.ts))) WITHIN 600000000 ON r.sensor = l.sensor;
-- rows sensor:string,ts:timestamp,temp:int,upper:int
-- a, 2026-01-01 10:00:00, 31, 30
-- a, 2026-01-01 10:05:00, 20, 33
-- a, 2026-01-01 10:08:00, 35, 33
-- a, 2026-01-01 11:20:00, 36, null
-- b, 2026-01-01 10:01:00, 40, null
-- b, 2026-01-01 10:30:00, 41, 50

-- == pandas: merge_asof nearest
pd.merge_asof(probes, repeated.drop_duplicates(['sensor', 'ts']), on='ts', by='sensor', direction='nearest', tolerance=pd.Timedelta('10min'));
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'pd'.
--   1 | pd.merge_asof(probes, repeated.drop_duplicates(['sensor', 'ts']), on='ts', by='sensor', direction='nearest', tolerance=pd.Timedelta('10min'))
--     | ^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT p.sensor, p.ts, upper FROM probes p LEFT ASOF JOIN (SELECT * FROM repeated QUALIFY row_number() OVER (PARTITION BY sensor, ts ORDER BY n) = 1) l MATCH_CONDITION (NEAREST (p.ts, l.ts)) WITHIN INTERVAL 10 MINUTES ON p.sensor <=> l.sensor;
-- rows sensor:string,ts:timestamp,upper:int
-- a, 2026-01-01 10:05:00, 30
-- a, 2026-01-01 10:20:00, 33
-- null, 2026-01-01 10:05:00, 70

-- == Polars: join_asof nearest, of two at one distance, with equal times
probes.join_asof(repeated, on='ts', by='sensor', strategy='nearest', tolerance='10m');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'probes'.
--   1 | probes.join_asof(repeated, on='ts', by='sensor', strategy='nearest', tolerance='10m')
--     | ^^^^^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT p.sensor, p.ts, upper FROM probes p LEFT ASOF JOIN (SELECT * FROM repeated QUALIFY row_number() OVER (PARTITION BY sensor, ts ORDER BY n DESC) = 1) l MATCH_CONDITION (NEAREST (-unix_micros(p.ts), -unix_micros(l.ts))) WITHIN 600000000 ON p.sensor = l.sensor;
-- rows sensor:string,ts:timestamp,upper:int
-- a, 2026-01-01 10:05:00, 31
-- a, 2026-01-01 10:20:00, 31
-- null, 2026-01-01 10:05:00, null

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
readings.resample('30min', on='ts')['temp'].mean();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.resample('30min', on='ts')['temp'].mean()
--     | ^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
WITH bins AS (SELECT window_start, avg(temp) AS temp FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 30 MINUTES) GROUP BY window_start, window_end)
SELECT ts, temp FROM (SELECT explode(sequence(min(window_start), max(window_start), INTERVAL 30 MINUTES)) AS ts FROM bins) LEFT JOIN bins ON ts = window_start;
-- rows ts:timestamp,temp:double
-- 2026-01-01 10:00:00, 31.5
-- 2026-01-01 10:30:00, 41.0
-- 2026-01-01 11:00:00, 36.0

-- == pandas: resample to bins that do not divide a day
readings.resample('5h', on='ts')['temp'].sum();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.resample('5h', on='ts')['temp'].sum()
--     | ^^^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT window_start AS ts, sum(temp) AS temp
FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL 5 HOURS, INTERVAL 1 HOUR) GROUP BY window_start, window_end;
-- rows ts:timestamp,temp:bigint
-- 2026-01-01 10:00:00, 203

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
repeated.groupby('sensor', dropna=False)['upper'].cumsum();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'repeated'.
--   1 | repeated.groupby('sensor', dropna=False)['upper'].cumsum()
--     | ^^^^^^^^
-- Hint: write sum(x) OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED PRECEDING).
-- write
SELECT n, sum(upper) OVER (PARTITION BY sensor ORDER BY n ROWS UNBOUNDED PRECEDING) AS upper FROM repeated;
-- rows n:int,upper:bigint
-- 1, 30
-- 2, 58
-- 3, 91
-- 4, 122
-- 5, 70

-- == pandas: ffill
repeated['upper'].where(repeated['upper'] > 29).ffill();
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'repeated'.
--   1 | repeated['upper'].where(repeated['upper'] > 29).ffill()
--     | ^^^^^^^^
-- Hint: write last_value(x) IGNORE NULLS OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED PRECEDING).
-- write
SELECT n, last_value(CASE WHEN upper > 29 THEN upper END) IGNORE NULLS OVER (ORDER BY n ROWS UNBOUNDED PRECEDING) AS upper FROM repeated;
-- rows n:int,upper:int
-- 1, 30
-- 2, 30
-- 3, 33
-- 4, 31
-- 5, 70

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
SELECT r.sensor, r.ts, l.upper FROM readings r JOIN limits l ON r.sensor = l.sensor AND r.ts >= l.ts;
-- rows sensor:string,ts:timestamp,upper:int
-- a, 2026-01-01 10:00:00, 30
-- a, 2026-01-01 10:05:00, 30
-- a, 2026-01-01 10:08:00, 30
-- a, 2026-01-01 10:08:00, 33
-- a, 2026-01-01 11:20:00, 30
-- a, 2026-01-01 11:20:00, 33
-- b, 2026-01-01 10:30:00, 50

-- == Polars: join_where with both bounds
readings.join_where(limits, pl.col('sensor') == pl.col('sensor_right'), pl.col('ts').is_between(pl.col('ts_right'), pl.col('ts_right') + pl.duration(minutes=5)));
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.join_where(limits, pl.col('sensor') == pl.col('sensor_right'), pl.col('ts').is_between(pl.col('ts_right'), pl.col('ts_right') + pl.duration(minutes=5)))
--     | ^^^^^^^^
-- Hint: write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts.
-- write
SELECT r.sensor, r.ts, l.upper FROM readings r INTERVAL JOIN limits l ON r.sensor = l.sensor AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 5 MINUTES;
-- rows sensor:string,ts:timestamp,upper:int
-- a, 2026-01-01 10:00:00, 30
-- a, 2026-01-01 10:08:00, 33

-- == Polars: sessions by a gap
readings.with_columns((pl.col('ts').diff() > pl.duration(minutes=30)).cum_sum().over('sensor'));
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'readings'.
--   1 | readings.with_columns((pl.col('ts').diff() > pl.duration(minutes=30)).cum_sum().over('sensor'))
--     | ^^^^^^^^
-- Hint: write MATCH_NUMBER() of PATTERN (a same*), or sum(x) OVER (…).
-- write
SELECT sensor, ts, CASE WHEN row_number() OVER (PARTITION BY sensor ORDER BY ts) > 1 THEN session - 1 END AS session
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY ts MEASURES MATCH_NUMBER() AS session
  ALL ROWS PER MATCH PATTERN (a b*) DEFINE b AS ts <= PREV(ts) + INTERVAL 30 MINUTES
);
-- rows sensor:string,ts:timestamp,session:bigint
-- a, 2026-01-01 10:00:00, null
-- a, 2026-01-01 10:05:00, 0
-- a, 2026-01-01 10:08:00, 0
-- a, 2026-01-01 11:20:00, 1
-- b, 2026-01-01 10:01:00, null
-- b, 2026-01-01 10:30:00, 0
