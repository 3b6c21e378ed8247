-- A stream into a Delta table, from end to end: failed logins and then a success, as the events arrive.
--
-- Each run of the streaming table resumes where the last one stopped, because its checkpoint lies in the folder of the
-- table. ann's three failures and her login are emitted as soon as the watermark has passed the login. bob's login is
-- in the second delivery; his failures waited in the checkpoint. cyd has no login within five minutes of her first
-- failure. Without 'available-now' the query would run until it is stopped.
--
-- expect:
-- account	failures	ip	certain_at
-- ann	3	10.0.0.7	2026-03-02 08:01:10
-- bob	3	10.9.9.9	2026-03-02 08:03:30

CREATE TABLE example_logins AS
SELECT * FROM VALUES
    ('ann', TIMESTAMP '2026-03-02 08:00:00', false, '10.0.0.7'),
    ('ann', TIMESTAMP '2026-03-02 08:00:20', false, '10.0.0.7'),
    ('bob', TIMESTAMP '2026-03-02 08:00:30', false, '10.9.9.9'),
    ('ann', TIMESTAMP '2026-03-02 08:00:40', false, '10.0.0.7'),
    ('cyd', TIMESTAMP '2026-03-02 08:00:50', false, '10.0.0.8'),
    ('ann', TIMESTAMP '2026-03-02 08:01:10', true,  '10.0.0.7'),
    ('bob', TIMESTAMP '2026-03-02 08:01:20', false, '10.9.9.9'),
    ('bob', TIMESTAMP '2026-03-02 08:01:40', false, '10.9.9.9')
  AS login(account, ts, success, ip);

CREATE OR REFRESH STREAMING TABLE example_takeovers OPTIONS ('trigger' = 'available-now') AS
SELECT account, failures, ip, certain_at
FROM STREAM example_logins WATERMARK ts DELAY OF INTERVAL 10 SECONDS
MATCH_RECOGNIZE (
  PARTITION BY account
  ORDER BY ts
  MEASURES
    COUNT(failed.*) AS failures,
    ok.ip           AS ip,
    MATCH_ROWTIME() AS certain_at
  PATTERN (failed{3,} ok) WITHIN INTERVAL 5 MINUTES
  DEFINE
    failed AS NOT success,
    ok     AS success
);

INSERT INTO example_logins VALUES
    ('cyd', TIMESTAMP '2026-03-02 08:02:10', false, '10.0.0.8'),
    ('bob', TIMESTAMP '2026-03-02 08:03:30', true,  '10.9.9.9'),
    ('cyd', TIMESTAMP '2026-03-02 08:05:00', false, '10.0.0.8'),
    ('ann', TIMESTAMP '2026-03-02 08:05:10', true,  '10.0.0.7'),
    ('cyd', TIMESTAMP '2026-03-02 08:05:50', true,  '10.0.0.8'),
    ('ann', TIMESTAMP '2026-03-02 08:06:00', false, '10.0.0.7'),
    ('bob', TIMESTAMP '2026-03-02 08:06:10', false, '10.9.9.9'),
    ('bob', TIMESTAMP '2026-03-02 08:06:20', true,  '10.9.9.9'),
    ('ann', TIMESTAMP '2026-03-02 08:07:00', true,  '10.0.0.7');

CREATE OR REFRESH STREAMING TABLE example_takeovers OPTIONS ('trigger' = 'available-now') AS
SELECT account, failures, ip, certain_at
FROM STREAM example_logins WATERMARK ts DELAY OF INTERVAL 10 SECONDS
MATCH_RECOGNIZE (
  PARTITION BY account
  ORDER BY ts
  MEASURES
    COUNT(failed.*) AS failures,
    ok.ip           AS ip,
    MATCH_ROWTIME() AS certain_at
  PATTERN (failed{3,} ok) WITHIN INTERVAL 5 MINUTES
  DEFINE
    failed AS NOT success,
    ok     AS success
);

SELECT * FROM example_takeovers ORDER BY account;

DROP TABLE example_takeovers;

DROP TABLE example_logins;
