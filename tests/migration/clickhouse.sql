-- What users of ClickHouse, Doris and StarRocks write: funnels, sequences, retention, ASOF joins and time series.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW events AS
SELECT * FROM VALUES (1, TIMESTAMP '2026-01-01 10:00:00', 'view', 5), (1, TIMESTAMP '2026-01-01 10:05:00', 'cart', 7), (1, TIMESTAMP '2026-01-01 10:20:00', 'buy', 20),
  (2, TIMESTAMP '2026-01-01 10:00:00', 'view', 1), (2, TIMESTAMP '2026-01-01 11:30:00', 'cart', 2),
  (3, TIMESTAMP '2026-01-01 09:00:00', 'view', 4), (3, TIMESTAMP '2026-01-01 09:03:00', 'help', 4), (3, TIMESTAMP '2026-01-01 09:10:00', 'cart', 9), (3, TIMESTAMP '2026-01-02 08:00:00', 'view', 3) AS events(user_id, ts, event, amount);
CREATE OR REPLACE TEMPORARY VIEW quotes AS
SELECT * FROM VALUES (1, TIMESTAMP '2026-01-01 09:59:00', 100), (1, TIMESTAMP '2026-01-01 10:05:00', 101), (3, TIMESTAMP '2026-01-01 09:01:00', 300) AS quotes(user_id, ts, price);

-- == windowFunnel
SELECT user_id, windowFunnel(3600)(ts, event = 'view', event = 'cart', event = 'buy') AS level FROM events GROUP BY user_id;
-- write
SELECT user_id, max(steps) AS level
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts
  MEASURES COUNT(*) AS steps
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v -> c -> b | v -> c | v) WITHIN INTERVAL 1 HOUR
  DEFINE v AS event = 'view', c AS event = 'cart', b AS event = 'buy'
) GROUP BY user_id;

-- == windowFunnel in strict order
SELECT user_id, windowFunnel(3600, 'strict_order')(ts, event = 'view', event = 'cart') AS level FROM events GROUP BY user_id;
-- write
SELECT user_id, max(steps) AS level
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts
  MEASURES COUNT(*) AS steps
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v c?) WITHIN INTERVAL 1 HOUR
  DEFINE v AS event = 'view', c AS event = 'cart'
) GROUP BY user_id;

-- == the users of each step of a funnel
SELECT level, count() AS users FROM (SELECT user_id, windowFunnel(3600)(ts, event = 'view', event = 'cart') AS level FROM events GROUP BY user_id) GROUP BY level;
-- write
SELECT level, count(*) AS users FROM (
  SELECT user_id, max(steps) AS level
  FROM events MATCH_RECOGNIZE (
    PARTITION BY user_id ORDER BY ts
    MEASURES COUNT(*) AS steps
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (v -> c | v) WITHIN INTERVAL 1 HOUR
    DEFINE v AS event = 'view', c AS event = 'cart'
  ) GROUP BY user_id
) GROUP BY level;

-- == sequenceMatch with events in between
SELECT user_id FROM events GROUP BY user_id HAVING sequenceMatch('(?1).*(?2)')(ts, event = 'view', event = 'cart');
-- write
SELECT DISTINCT user_id
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES 1 AS one
  PATTERN (v -> c) DEFINE v AS event = 'view', c AS event = 'cart'
);

-- == sequenceMatch with a limit of time
SELECT user_id FROM events GROUP BY user_id HAVING sequenceMatch('(?1)(?t<=600)(?2)')(ts, event = 'view', event = 'cart');
-- write
SELECT DISTINCT user_id
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES 1 AS one
  PATTERN (v -> c) WITHIN INCLUSIVE INTERVAL 600 SECONDS DEFINE v AS event = 'view', c AS event = 'cart'
);

-- == sequenceCount
SELECT user_id, sequenceCount('(?1).*(?2)')(ts, event = 'view', event = 'cart') AS n FROM events GROUP BY user_id;
-- write
SELECT user_id, count(*) AS n
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES 1 AS one
  PATTERN (v -> c) DEFINE v AS event = 'view', c AS event = 'cart'
) GROUP BY user_id;

-- == sequenceNextNode
SELECT user_id, sequenceNextNode('forward', 'head')(ts, event, event = 'view', event = 'view') AS next FROM events GROUP BY user_id;
-- write
SELECT user_id, next
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES NEXT(LAST(v.event)) AS next
  PATTERN (^ v) DEFINE v AS event = 'view'
);

-- == retention
SELECT user_id, retention(to_date(ts) = '2026-01-01', to_date(ts) = '2026-01-02') AS r FROM events GROUP BY user_id;
-- write
SELECT user_id, bool_or(to_date(ts) = '2026-01-01') AS day1, day1 AND bool_or(to_date(ts) = '2026-01-02') AS day2 FROM events GROUP BY user_id;

-- == ASOF LEFT JOIN
SELECT e.user_id, e.event, q.price FROM events e ASOF LEFT JOIN quotes q ON e.user_id = q.user_id AND e.ts >= q.ts;

-- == ASOF JOIN with USING
SELECT user_id, event, price FROM events ASOF JOIN quotes USING (user_id, ts);

-- == groupArray
SELECT user_id, groupArray(event) AS path FROM events GROUP BY user_id;
-- write
SELECT user_id, listagg(event, ',') WITHIN GROUP (ORDER BY ts) AS path FROM events GROUP BY user_id;

-- == countIf and sumIf
SELECT user_id, countIf(event = 'view') AS views, sumIf(amount, event = 'cart') AS carts FROM events GROUP BY user_id;
-- write
SELECT user_id, count_if(event = 'view') AS views, sum(amount) FILTER (WHERE event = 'cart') AS carts FROM events GROUP BY user_id;

-- == argMax
SELECT user_id, argMax(event, ts) AS last_event FROM events GROUP BY user_id;
-- write
SELECT user_id, max_by(event, ts) AS last_event FROM events GROUP BY user_id;

-- == uniqExact
SELECT event, uniqExact(user_id) AS users FROM events GROUP BY event;
-- write
SELECT event, count(DISTINCT user_id) AS users FROM events GROUP BY event;

-- == toStartOfHour
SELECT toStartOfHour(ts) AS hour, max(amount) AS most FROM events GROUP BY hour;
-- write
SELECT date_trunc('HOUR', ts) AS hour, max(amount) AS most FROM events GROUP BY hour;

-- == LIMIT BY
SELECT user_id, ts, event FROM events ORDER BY ts DESC LIMIT 1 BY user_id;
-- write
SELECT user_id, ts, event FROM events QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY ts DESC) = 1;

-- == neighbor
SELECT user_id, event, neighbor(event, -1) AS before FROM events;
-- write
SELECT user_id, event, lag(event) OVER (PARTITION BY user_id ORDER BY ts) AS before FROM events;

-- == runningDifference
SELECT ts, runningDifference(amount) AS rise FROM events WHERE user_id = 1;
-- write
SELECT ts, amount - coalesce(lag(amount) OVER (ORDER BY ts), amount) AS rise FROM events WHERE user_id = 1;

-- == window_funnel of Doris
SELECT user_id, window_funnel(3600, 'default', ts, event = 'view', event = 'cart') AS level FROM events GROUP BY user_id;
-- write
SELECT user_id, max(steps) AS level
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts
  MEASURES COUNT(*) AS steps
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v -> c | v) WITHIN INCLUSIVE INTERVAL 1 HOUR
  DEFINE v AS event = 'view', c AS event = 'cart'
) GROUP BY user_id;

-- == sequence_match of Doris
SELECT user_id, sequence_match('(?1)(?2)', ts, event = 'view', event = 'cart') AS found FROM events GROUP BY user_id;
-- write
SELECT user_id, bool_or(found) AS found
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES COUNT(c.*) > 0 AS found
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v c | x) DEFINE v AS event = 'view', c AS event = 'cart', x AS true
) GROUP BY user_id;

-- == window_funnel of StarRocks
SELECT user_id, window_funnel(3600, ts, 0, [event = 'view', event = 'cart']) AS level FROM events GROUP BY user_id;
-- write
SELECT user_id, max(steps) AS level
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts
  MEASURES COUNT(*) AS steps
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v -> c | v) WITHIN INCLUSIVE INTERVAL 1 HOUR
  DEFINE v AS event = 'view', c AS event = 'cart'
) GROUP BY user_id;
