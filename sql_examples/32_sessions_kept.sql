-- Sessions in a table that stays right: clicks may come late, and be corrected or deleted, as late as they like.
--
-- A session depends on the clicks of its user alone, so REFRESH computes the sessions of the users whose clicks have
-- changed, and no others. There is no window of days to look back. The click that comes late joins two sessions of ann.
--
-- expect:
-- user	window_start	window_end	clicks
-- ann	2026-03-02 09:00:00	2026-03-02 09:30:00	1
-- ann	2026-03-02 09:40:00	2026-03-02 10:15:00	2
-- bob	2026-03-02 09:05:00	2026-03-02 09:35:00	1
--
-- expect:
-- user	window_start	window_end	clicks
-- ann	2026-03-02 09:00:00	2026-03-02 10:15:00	4
-- bob	2026-03-02 09:05:00	2026-03-02 09:35:00	1

CREATE OR REPLACE TABLE example_clicks AS
SELECT *
FROM VALUES
  ('ann', TIMESTAMP '2026-03-02 09:00:00'),
  ('ann', TIMESTAMP '2026-03-02 09:40:00'),
  ('ann', TIMESTAMP '2026-03-02 09:45:00'),
  ('bob', TIMESTAMP '2026-03-02 09:05:00')
  AS clicks(user, at);

CREATE MATERIALIZED VIEW example_sessions AS
SELECT user, window_start, window_end, count(*) AS clicks
FROM SESSION(TABLE example_clicks PARTITION BY user, DESCRIPTOR(at), INTERVAL 30 MINUTES)
GROUP BY user, window_start, window_end;

SELECT * FROM example_sessions ORDER BY user, window_start;

INSERT INTO example_clicks VALUES ('ann', TIMESTAMP '2026-03-02 09:20:00');

REFRESH MATERIALIZED VIEW example_sessions;

SELECT * FROM example_sessions ORDER BY user, window_start;

DROP MATERIALIZED VIEW example_sessions;
DROP TABLE example_clicks;
