-- Account takeovers: from a topic of logins into a topic of alerts. `make demo-kafka` runs it on a broker of its own.

CREATE TABLE IF NOT EXISTS logins (account STRING, ts TIMESTAMP, success BOOLEAN, ip STRING) USING kafka OPTIONS (
  'kafka.bootstrap.servers' = 'localhost:9092', subscribe = 'logins', 'value.format' = 'json',
  maxOffsetsPerTrigger = 6000);

CREATE TABLE IF NOT EXISTS takeovers (account STRING, at TIMESTAMP, failures BIGINT, ip STRING) USING kafka OPTIONS (
  'kafka.bootstrap.servers' = 'localhost:9092', topic = 'takeovers', 'value.format' = 'json', 'key.columns' = 'account');

INSERT INTO takeovers
SELECT account, at, failures, ip
  FROM STREAM logins WATERMARK ts DELAY OF INTERVAL 1 MINUTE
  MATCH_RECOGNIZE (
    PARTITION BY account
    ORDER BY ts
    MEASURES
      MATCH_ROWTIME() AS at,
      COUNT(FAILED.*) AS failures,
      LAST(OK.ip)     AS ip
    PATTERN (FAILED{3,} OK) WITHIN INTERVAL 5 MINUTES
    DEFINE
      FAILED AS NOT success,
      OK     AS success
  );
