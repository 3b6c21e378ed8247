-- Account takeover: three or more failed logins in a row, then a password change, all in less than ten minutes.
--
-- {3,} counts the failures, "other*?" allows anything before the change, and WITHIN limits the time from the first row
-- of the match to its last. If the limit is exceeded, the search continues with the next row: bob's first failure is
-- 13 minutes before the change, but his last three failures are close enough. dan's ten minutes are not less than ten;
-- WITHIN INCLUSIVE would report him.
--
-- expect:
-- account	failing_since	changed_at	failures
-- ann	2026-03-02 08:00:00	2026-03-02 08:06:00	3
-- bob	2026-03-02 08:04:00	2026-03-02 08:13:00	3

WITH events(account, at, event) AS (
  VALUES
    ('ann', TIMESTAMP '2026-03-02 08:00:00', 'login failed'),
    ('ann', TIMESTAMP '2026-03-02 08:01:00', 'login failed'),
    ('ann', TIMESTAMP '2026-03-02 08:02:00', 'login failed'),
    ('ann', TIMESTAMP '2026-03-02 08:03:00', 'login'),
    ('ann', TIMESTAMP '2026-03-02 08:06:00', 'password changed'),
    ('bob', TIMESTAMP '2026-03-02 08:00:00', 'login failed'),
    ('bob', TIMESTAMP '2026-03-02 08:04:00', 'login failed'),
    ('bob', TIMESTAMP '2026-03-02 08:05:00', 'login failed'),
    ('bob', TIMESTAMP '2026-03-02 08:09:00', 'login failed'),
    ('bob', TIMESTAMP '2026-03-02 08:13:00', 'password changed'),
    ('cyd', TIMESTAMP '2026-03-02 08:00:00', 'login failed'),
    ('cyd', TIMESTAMP '2026-03-02 08:01:00', 'login failed'),
    ('cyd', TIMESTAMP '2026-03-02 08:02:00', 'login'),
    ('cyd', TIMESTAMP '2026-03-02 08:03:00', 'login failed'),
    ('cyd', TIMESTAMP '2026-03-02 08:04:00', 'password changed'),
    ('dan', TIMESTAMP '2026-03-02 08:00:00', 'login failed'),
    ('dan', TIMESTAMP '2026-03-02 08:01:00', 'login failed'),
    ('dan', TIMESTAMP '2026-03-02 08:02:00', 'login failed'),
    ('dan', TIMESTAMP '2026-03-02 08:10:00', 'password changed')
)
SELECT *
FROM events MATCH_RECOGNIZE (
  PARTITION BY account
  ORDER BY at
  MEASURES
    FIRST(failed.at) AS failing_since,
    changed.at       AS changed_at,
    COUNT(failed.at) AS failures
  PATTERN (failed{3,} other*? changed) WITHIN INTERVAL 10 MINUTES
  DEFINE
    failed  AS event = 'login failed',
    changed AS event = 'password changed'
)
ORDER BY account;
