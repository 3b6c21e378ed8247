-- Sessions: the clicks of a user, split where nothing happened for more than 30 minutes.
--
-- Every row begins a session or continues one, so "first_click" needs no condition and every row is in a session.
-- MATCH_NUMBER() counts within the partition, so it is the number of the user's session. MEASURES may use any
-- aggregate of Spark, such as COUNT(DISTINCT ...). A pause of exactly 30 minutes (09:12 to 09:42) does not end a
-- session.
--
-- expect:
-- user	session	began	ended	clicks	pages
-- ann	1	2026-03-02 09:00:00	2026-03-02 09:42:00	4	3
-- ann	2	2026-03-02 10:13:00	2026-03-02 10:14:00	2	2
-- bob	1	2026-03-02 09:05:00	2026-03-02 09:05:00	1	1

WITH clicks(user, at, page) AS (
  VALUES
    ('ann', TIMESTAMP '2026-03-02 09:00:00', 'home'),
    ('ann', TIMESTAMP '2026-03-02 09:10:00', 'search'),
    ('ann', TIMESTAMP '2026-03-02 09:12:00', 'search'),
    ('ann', TIMESTAMP '2026-03-02 09:42:00', 'product'),
    ('ann', TIMESTAMP '2026-03-02 10:13:00', 'home'),
    ('ann', TIMESTAMP '2026-03-02 10:14:00', 'product'),
    ('bob', TIMESTAMP '2026-03-02 09:05:00', 'home')
)
SELECT *
FROM clicks MATCH_RECOGNIZE (
  PARTITION BY user
  ORDER BY at
  MEASURES
    MATCH_NUMBER()       AS session,
    FIRST(at)            AS began,
    LAST(at)             AS ended,
    COUNT(*)             AS clicks,
    COUNT(DISTINCT page) AS pages
  PATTERN (first_click next_click*)
  DEFINE next_click AS at <= PREV(at) + INTERVAL 30 MINUTES
)
ORDER BY user, session;
