-- Brute force: three failed logins and then a success of the same account, with any other events in between.
--
-- "-> failed" skips events that are not failed logins, and "!-> reset" forbids a password reset before the success.
-- The events in between need no variable: skipped rows are not rows of the match, so COUNT(*) is four. Ann's fourth
-- event is not a login and is skipped. Bob reset his password before he got in. The success must come within ten
-- minutes of the first failure; Cyd's came later.
--
-- expect:
-- account	failing_since	succeeded_at	events
-- ann	2026-03-02 08:00:00	2026-03-02 08:06:00	4

WITH events(account, at, event) AS (
  VALUES
    ('ann', TIMESTAMP '2026-03-02 08:00:00', 'login failed'),
    ('ann', TIMESTAMP '2026-03-02 08:01:00', 'login failed'),
    ('ann', TIMESTAMP '2026-03-02 08:02:00', 'page viewed'),
    ('ann', TIMESTAMP '2026-03-02 08:03:00', 'login failed'),
    ('ann', TIMESTAMP '2026-03-02 08:06:00', 'login'),
    ('bob', TIMESTAMP '2026-03-02 08:00:00', 'login failed'),
    ('bob', TIMESTAMP '2026-03-02 08:01:00', 'login failed'),
    ('bob', TIMESTAMP '2026-03-02 08:02:00', 'login failed'),
    ('bob', TIMESTAMP '2026-03-02 08:03:00', 'password reset'),
    ('bob', TIMESTAMP '2026-03-02 08:04:00', 'login'),
    ('cyd', TIMESTAMP '2026-03-02 08:00:00', 'login failed'),
    ('cyd', TIMESTAMP '2026-03-02 08:04:00', 'login failed'),
    ('cyd', TIMESTAMP '2026-03-02 08:08:00', 'login failed'),
    ('cyd', TIMESTAMP '2026-03-02 08:12:00', 'login')
)
SELECT *
FROM events MATCH_RECOGNIZE (
  PARTITION BY account
  ORDER BY at
  MEASURES
    FIRST(failed.at) AS failing_since,
    success.at       AS succeeded_at,
    COUNT(*)         AS events
  PATTERN (failed (-> failed){2,} !-> reset -> success) WITHIN INTERVAL 10 MINUTES
  DEFINE
    failed  AS event = 'login failed',
    reset   AS event = 'password reset',
    success AS event = 'login'
)
ORDER BY account;
