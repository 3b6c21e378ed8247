-- What users of ClickHouse, Doris and StarRocks write: funnels, sequences, retention, ASOF joins and time series.
-- The rows are those of ClickHouse 26.9.2 (chdb 4.4.0). Doris and StarRocks have no package that we could run: where
-- their functions are documented as those of ClickHouse, the rows are ClickHouse's.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW events AS
SELECT * FROM VALUES (1, TIMESTAMP '2026-01-01 10:00:00', 'view', 5), (1, TIMESTAMP '2026-01-01 10:05:00', 'cart', 7), (1, TIMESTAMP '2026-01-01 10:20:00', 'buy', 20),
  (2, TIMESTAMP '2026-01-01 10:00:00', 'view', 1), (2, TIMESTAMP '2026-01-01 11:30:00', 'cart', 2),
  (3, TIMESTAMP '2026-01-01 09:00:00', 'view', 4), (3, TIMESTAMP '2026-01-01 09:03:00', 'help', 4), (3, TIMESTAMP '2026-01-01 09:10:00', 'cart', 9), (3, TIMESTAMP '2026-01-02 08:00:00', 'view', 3) AS events(user_id, ts, event, amount);
CREATE OR REPLACE TEMPORARY VIEW quotes AS
SELECT * FROM VALUES (1, TIMESTAMP '2026-01-01 09:59:00', 100), (1, TIMESTAMP '2026-01-01 10:05:00', 101), (3, TIMESTAMP '2026-01-01 09:01:00', 300) AS quotes(user_id, ts, price);
CREATE OR REPLACE TEMPORARY VIEW clicks AS
SELECT user_id, timestamp_seconds(1767225600 + 60 * minute) AS ts, event FROM VALUES (1, 0, 'view'), (1, 1, 'cart'), (1, 2, 'buy'), (2, 0, 'view'), (2, 1, 'help'), (2, 2, 'cart'),
  (3, 0, 'view'), (3, 1, 'view'), (3, 2, 'cart'), (3, 3, 'view'), (3, 4, 'buy'), (4, 0, 'view'), (4, 1, 'buy'), (4, 2, 'view'), (4, 3, 'cart'), (4, 4, 'buy'),
  (5, 0, 'cart'), (5, 1, 'view'), (5, 2, 'cart'), (5, 3, 'buy'), (6, 0, 'view'), (6, 1, 'cart'), (6, 2, 'help'), (6, 3, 'view'), (6, 4, 'cart'), (6, 5, 'buy'),
  (7, 0, 'cart'), (7, 0, 'view'), (7, 1, 'buy'), (8, 0, 'view'), (8, 90, 'cart'), (8, 91, 'buy'), (8, 92, 'view'), (8, 93, 'cart'), (9, 0, 'help') AS clicks(user_id, minute, event);

-- == windowFunnel
SELECT user_id, windowFunnel(3600)(ts, event = 'view', event = 'cart', event = 'buy') AS level FROM clicks GROUP BY user_id;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | SELECT user_id, windowFunnel(3600)(ts, event = 'view', event = 'cart', event = 'buy') AS level FROM clicks GROUP BY user_id
--     |                                              ^
-- Hint: write MATCH_RECOGNIZE (… MEASURES COUNT(*) AS steps PATTERN (a -> b -> c | a -> b | a) …): docs/migration/clickhouse-doris.md.
-- write
SELECT user_id, coalesce(max(steps), 0) AS level
FROM (SELECT DISTINCT user_id FROM clicks) LEFT JOIN (
  SELECT * FROM clicks MATCH_RECOGNIZE (
    PARTITION BY user_id ORDER BY ts, CASE event WHEN 'view' THEN 1 WHEN 'cart' THEN 2 WHEN 'buy' THEN 3 ELSE 0 END
    MEASURES COUNT(*) AS steps
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (v -> c -> b | v -> c | v) WITHIN INCLUSIVE INTERVAL 1 HOUR
    DEFINE v AS event = 'view', c AS event = 'cart', b AS event = 'buy'
  )
) USING (user_id) GROUP BY user_id;
-- rows user_id:int,level:bigint
-- 1, 3
-- 2, 2
-- 3, 3
-- 4, 3
-- 5, 3
-- 6, 3
-- 7, 3
-- 8, 2
-- 9, 0

-- == windowFunnel in strict order
SELECT user_id, windowFunnel(3600, 'strict_order')(ts, event = 'view', event = 'cart', event = 'buy') AS level FROM clicks GROUP BY user_id HAVING level > 0;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | SELECT user_id, windowFunnel(3600, 'strict_order')(ts, event = 'view', event = 'cart', event = 'buy') AS level FROM clicks GROUP BY user_id HAVING level > 0
--     |                                                              ^
-- Hint: write MATCH_RECOGNIZE (… MEASURES COUNT(*) AS steps PATTERN (a -> b -> c | a -> b | a) …): docs/migration/clickhouse-doris.md.
-- write
WITH steps AS (SELECT *, CASE event WHEN 'view' THEN 1 WHEN 'cart' THEN 2 WHEN 'buy' THEN 3 ELSE 0 END AS step FROM clicks),
in_order AS (
  SELECT * FROM steps MATCH_RECOGNIZE (
    PARTITION BY user_id ORDER BY ts, step
    ALL ROWS PER MATCH
    PATTERN (^ o* v (v | late)* (c n*)?)
    DEFINE o AS step <> 1, v AS step = 1, c AS step = 2 AND ts <= LAST(v.ts) + INTERVAL 1 HOUR, late AS step = 2 AND ts > LAST(v.ts) + INTERVAL 1 HOUR, n AS step > 0
  )
)
SELECT user_id, max(steps) AS level
FROM in_order MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts, step
  MEASURES COUNT(*) AS steps
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v -> c -> b | v -> c | v) WITHIN INCLUSIVE INTERVAL 1 HOUR
  DEFINE v AS step = 1, c AS step = 2, b AS step = 3
) GROUP BY user_id;
-- rows user_id:int,level:bigint
-- 1, 3
-- 2, 1
-- 3, 3
-- 4, 1
-- 5, 3
-- 6, 2
-- 7, 3
-- 8, 1

-- == windowFunnel in strict order, two steps
SELECT user_id, windowFunnel(3600, 'strict_order')(ts, event = 'view', event = 'cart') AS level FROM clicks GROUP BY user_id HAVING level > 0;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | SELECT user_id, windowFunnel(3600, 'strict_order')(ts, event = 'view', event = 'cart') AS level FROM clicks GROUP BY user_id HAVING level > 0
--     |                                                              ^
-- Hint: write MATCH_RECOGNIZE (… MEASURES COUNT(*) AS steps PATTERN (a -> b -> c | a -> b | a) …): docs/migration/clickhouse-doris.md.
-- write
WITH steps AS (SELECT *, CASE event WHEN 'view' THEN 1 WHEN 'cart' THEN 2 ELSE 0 END AS step FROM clicks),
in_order AS (
  SELECT * FROM steps MATCH_RECOGNIZE (
    PARTITION BY user_id ORDER BY ts, step
    ALL ROWS PER MATCH
    PATTERN (^ o* v n*) DEFINE o AS step <> 1, v AS step = 1, n AS step > 0
  )
)
SELECT user_id, max(steps) AS level
FROM in_order MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts, step
  MEASURES COUNT(*) AS steps
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v -> c | v) WITHIN INCLUSIVE INTERVAL 1 HOUR
  DEFINE v AS step = 1, c AS step = 2
) GROUP BY user_id;
-- rows user_id:int,level:bigint
-- 1, 2
-- 2, 1
-- 3, 2
-- 4, 1
-- 5, 2
-- 6, 2
-- 7, 2
-- 8, 1

-- == the users of each step of a funnel
SELECT level, count() AS users FROM (SELECT user_id, windowFunnel(3600)(ts, event = 'view', event = 'cart') AS level FROM events GROUP BY user_id) GROUP BY level;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | SELECT level, count() AS users FROM (SELECT user_id, windowFunnel(3600)(ts, event = 'view', event = 'cart') AS level FROM events GROUP BY user_id) GROUP BY level
--     |                                                                                   ^
-- Hint: write MATCH_RECOGNIZE (… MEASURES COUNT(*) AS steps PATTERN (a -> b -> c | a -> b | a) …): docs/migration/clickhouse-doris.md.
-- write
SELECT level, count(*) AS users FROM (
  SELECT user_id, max(steps) AS level
  FROM events MATCH_RECOGNIZE (
    PARTITION BY user_id ORDER BY ts
    MEASURES COUNT(*) AS steps
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (v -> c | v) WITHIN INCLUSIVE INTERVAL 1 HOUR
    DEFINE v AS event = 'view', c AS event = 'cart'
  ) GROUP BY user_id
) GROUP BY level;
-- rows level:bigint,users:bigint
-- 1, 1
-- 2, 2

-- == sequenceMatch with events in between
SELECT user_id FROM events GROUP BY user_id HAVING sequenceMatch('(?1).*(?2)')(ts, event = 'view', event = 'cart');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '('.
--   1 | SELECT user_id FROM events GROUP BY user_id HAVING sequenceMatch('(?1).*(?2)')(ts, event = 'view', event = 'cart')
--     |                                                                               ^
-- Hint: write MATCH_RECOGNIZE (… ONE ROW PER MATCH PATTERN (first -> second) …) and count its rows: docs/migration/clickhouse-doris.md.
-- write
SELECT DISTINCT user_id
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES 1 AS one
  PATTERN (v -> c) DEFINE v AS event = 'view', c AS event = 'cart'
);
-- rows user_id:int
-- 1
-- 2
-- 3

-- == sequenceMatch of neighbours
SELECT user_id, sequenceMatch('(?1)(?2)')(ts, event = 'view', event = 'buy', event = 'cart') AS found FROM clicks WHERE user_id <> 7 GROUP BY user_id;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | SELECT user_id, sequenceMatch('(?1)(?2)')(ts, event = 'view', event = 'buy', event = 'cart') AS found FROM clicks WHERE user_id <> 7 GROUP BY user_id
--     |                                                     ^
-- Hint: write MATCH_RECOGNIZE (… ONE ROW PER MATCH PATTERN (first -> second) …) and count its rows: docs/migration/clickhouse-doris.md.
-- write
SELECT user_id, bool_or(found) AS found
FROM clicks MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES COUNT(b.*) > 0 AS found
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v o* b | x) DEFINE v AS event = 'view', b AS event = 'buy', o AS event NOT IN ('view', 'buy', 'cart'), x AS true
) WHERE user_id <> 7 GROUP BY user_id;
-- rows user_id:int,found:boolean
-- 1, false
-- 2, false
-- 3, true
-- 4, true
-- 5, false
-- 6, false
-- 8, false
-- 9, false

-- == sequenceMatch with a limit of time
SELECT user_id FROM events GROUP BY user_id HAVING sequenceMatch('(?1)(?t<=600)(?2)')(ts, event = 'view', event = 'cart');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '('.
--   1 | SELECT user_id FROM events GROUP BY user_id HAVING sequenceMatch('(?1)(?t<=600)(?2)')(ts, event = 'view', event = 'cart')
--     |                                                                                      ^
-- Hint: write MATCH_RECOGNIZE (… ONE ROW PER MATCH PATTERN (first -> second) …) and count its rows: docs/migration/clickhouse-doris.md.
-- write
SELECT DISTINCT user_id
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES 1 AS one
  PATTERN (v -> c) WITHIN INCLUSIVE INTERVAL 600 SECONDS DEFINE v AS event = 'view', c AS event = 'cart'
);
-- rows user_id:int
-- 1
-- 3

-- == sequenceCount
SELECT user_id, sequenceCount('(?1).*(?2)')(ts, event = 'view', event = 'cart') AS n FROM events GROUP BY user_id;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | SELECT user_id, sequenceCount('(?1).*(?2)')(ts, event = 'view', event = 'cart') AS n FROM events GROUP BY user_id
--     |                                                       ^
-- Hint: write MATCH_RECOGNIZE (… ONE ROW PER MATCH PATTERN (first -> second) …) and count its rows: docs/migration/clickhouse-doris.md.
-- write
SELECT user_id, count(*) AS n
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES 1 AS one
  PATTERN (v -> c) DEFINE v AS event = 'view', c AS event = 'cart'
) GROUP BY user_id;
-- rows user_id:int,n:bigint
-- 1, 1
-- 2, 1
-- 3, 1

-- == sequenceNextNode
SELECT user_id, sequenceNextNode('forward', 'head')(ts, event, event = 'view', event = 'view') AS next FROM clicks GROUP BY user_id HAVING next IS NOT NULL AND user_id <> 7;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | SELECT user_id, sequenceNextNode('forward', 'head')(ts, event, event = 'view', event = 'view') AS next FROM clicks GROUP BY user_id HAVING next IS NOT NULL AND user_id <> 7
--     |                                                                      ^
-- Hint: write MATCH_RECOGNIZE (… ONE ROW PER MATCH PATTERN (first -> second) …) and count its rows: docs/migration/clickhouse-doris.md.
-- write
SELECT user_id, next
FROM clicks MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES NEXT(LAST(v.event)) AS next
  PATTERN (^ v) DEFINE v AS event = 'view'
) WHERE user_id <> 7;
-- rows user_id:int,next:string
-- 1, cart
-- 2, help
-- 3, view
-- 4, buy
-- 6, cart
-- 8, cart

-- == retention
SELECT user_id, retention(to_date(ts) = '2026-01-01', to_date(ts) = '2026-01-02') AS r FROM events GROUP BY user_id;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function retention
--   1 | SELECT user_id, retention(to_date(ts) = '2026-01-01', to_date(ts) = '2026-01-02') AS r FROM events GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write bool_or(condition) for each condition; the first one AND another is the retention of that one.
-- write
SELECT user_id, bool_or(to_date(ts) = '2026-01-01') AS day1, day1 AND bool_or(to_date(ts) = '2026-01-02') AS day2 FROM events GROUP BY user_id;
-- rows user_id:int,day1:boolean,day2:boolean
-- 1, true, false
-- 2, true, false
-- 3, true, true

-- == ASOF LEFT JOIN
SELECT e.user_id, e.event, q.price FROM events e ASOF LEFT JOIN quotes q ON e.user_id = q.user_id AND e.ts >= q.ts;
-- rows user_id:int,event:string,price:int
-- 1, buy, 101
-- 1, cart, 101
-- 1, view, 100
-- 2, cart, null
-- 2, view, null
-- 3, cart, 300
-- 3, help, 300
-- 3, view, 300
-- 3, view, null

-- == ASOF JOIN with USING
SELECT user_id, event, price FROM events ASOF JOIN quotes USING (user_id, ts);
-- rows user_id:int,event:string,price:int
-- 1, buy, 101
-- 1, cart, 101
-- 1, view, 100
-- 3, cart, 300
-- 3, help, 300
-- 3, view, 300

-- == groupArray
SELECT user_id, groupArray(event) AS path FROM events GROUP BY user_id;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function groupArray
--   1 | SELECT user_id, groupArray(event) AS path FROM events GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^
-- Hint: write array_agg(x).
-- write
SELECT user_id, listagg(event, ',') WITHIN GROUP (ORDER BY ts) AS path FROM events GROUP BY user_id;
-- rows user_id:int,path:string
-- 1, view,cart,buy
-- 2, view,cart
-- 3, view,help,cart,view

-- == countIf and sumIf
SELECT user_id, countIf(event = 'view') AS views, sumIf(amount, event = 'cart') AS carts FROM events GROUP BY user_id;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function countIf
--   1 | SELECT user_id, countIf(event = 'view') AS views, sumIf(amount, event = 'cart') AS carts FROM events GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write count_if(condition).
-- write
SELECT user_id, count_if(event = 'view') AS views, sum(amount) FILTER (WHERE event = 'cart') AS carts FROM events GROUP BY user_id;
-- rows user_id:int,views:bigint,carts:bigint
-- 1, 1, 7
-- 2, 1, 2
-- 3, 2, 9

-- == argMax
SELECT user_id, argMax(event, ts) AS last_event FROM events GROUP BY user_id;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function argMax
--   1 | SELECT user_id, argMax(event, ts) AS last_event FROM events GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^
-- Hint: write max_by(value, key), with FILTER (WHERE value IS NOT NULL) if it can be NULL.
-- write
SELECT user_id, max_by(event, ts) AS last_event FROM events GROUP BY user_id;
-- rows user_id:int,last_event:string
-- 1, buy
-- 2, cart
-- 3, view

-- == argMax of a value that is NULL
SELECT argMax(price, day) AS last_price FROM VALUES (5, 1), (NULL, 2) AS quotes(price, day);
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function argMax
--   1 | SELECT argMax(price, day) AS last_price FROM VALUES (5, 1), (NULL, 2) AS quotes(price, day)
--     |        ^^^^^^^^^^^^^^^^^^
-- Hint: write max_by(value, key), with FILTER (WHERE value IS NOT NULL) if it can be NULL.
-- write
SELECT max_by(price, day) FILTER (WHERE price IS NOT NULL) AS last_price FROM VALUES (5, 1), (NULL, 2) AS quotes(price, day);
-- rows last_price:int
-- 5

-- == uniqExact
SELECT event, uniqExact(user_id) AS users FROM events GROUP BY event;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function uniqExact
--   1 | SELECT event, uniqExact(user_id) AS users FROM events GROUP BY event
--     |               ^^^^^^^^^^^^^^^^^^
-- Hint: write count(DISTINCT x).
-- write
SELECT event, count(DISTINCT user_id) AS users FROM events GROUP BY event;
-- rows event:string,users:bigint
-- buy, 1
-- cart, 3
-- help, 1
-- view, 3

-- == toStartOfHour
SELECT toStartOfHour(ts) AS hour, max(amount) AS most FROM events GROUP BY hour;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function toStartOfHour
--   1 | SELECT toStartOfHour(ts) AS hour, max(amount) AS most FROM events GROUP BY hour
--     |        ^^^^^^^^^^^^^^^^^
-- Hint: write date_trunc('HOUR', ts).
-- write
SELECT date_trunc('HOUR', ts) AS hour, max(amount) AS most FROM events GROUP BY hour;
-- rows hour:timestamp,most:int
-- 2026-01-01 09:00:00, 9
-- 2026-01-01 10:00:00, 20
-- 2026-01-01 11:00:00, 2
-- 2026-01-02 08:00:00, 3

-- == LIMIT BY
SELECT user_id, ts, event FROM events ORDER BY ts DESC LIMIT 1 BY user_id;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'BY'.
--   1 | SELECT user_id, ts, event FROM events ORDER BY ts DESC LIMIT 1 BY user_id
--     |                                                                ^^
-- Hint: write QUALIFY row_number() OVER (PARTITION BY key ORDER BY ts DESC) = 1.
-- write
SELECT user_id, ts, event FROM events QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY ts DESC) = 1;
-- rows user_id:int,ts:timestamp,event:string
-- 1, 2026-01-01 10:20:00, buy
-- 2, 2026-01-01 11:30:00, cart
-- 3, 2026-01-02 08:00:00, view

-- == neighbor
SELECT event, neighbor(event, -1) AS before FROM events WHERE user_id = 3 AND amount > 3;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function neighbor
--   1 | SELECT event, neighbor(event, -1) AS before FROM events WHERE user_id = 3 AND amount > 3
--     |               ^^^^^^^^^^^^^^^^^^^
-- Hint: write lag(x) or lead(x) OVER (ORDER BY …), or PREV(x) and NEXT(x) in MATCH_RECOGNIZE.
-- write
SELECT event, lag(event, 1, '') OVER (ORDER BY ts) AS before FROM events WHERE user_id = 3 AND amount > 3;
-- rows event:string,before:string
-- cart, help
-- help, view
-- view,

-- == runningDifference
SELECT ts, runningDifference(amount) AS rise FROM events WHERE user_id = 1;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function runningDifference
--   1 | SELECT ts, runningDifference(amount) AS rise FROM events WHERE user_id = 1
--     |            ^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write x - lag(x) OVER (ORDER BY …), or x - PREV(x) in MATCH_RECOGNIZE.
-- write
SELECT ts, amount - coalesce(lag(amount) OVER (ORDER BY ts), amount) AS rise FROM events WHERE user_id = 1;
-- rows ts:timestamp,rise:int
-- 2026-01-01 10:00:00, 0
-- 2026-01-01 10:05:00, 2
-- 2026-01-01 10:20:00, 13

-- == window_funnel of Doris
SELECT user_id, window_funnel(3600, 'default', ts, event = 'view', event = 'cart') AS level FROM events GROUP BY user_id;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function window_funnel
--   1 | SELECT user_id, window_funnel(3600, 'default', ts, event = 'view', event = 'cart') AS level FROM events GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write MATCH_RECOGNIZE (… MEASURES COUNT(*) AS steps PATTERN (a -> b -> c | a -> b | a) …): docs/migration/clickhouse-doris.md.
-- write
SELECT user_id, max(steps) AS level
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts
  MEASURES COUNT(*) AS steps
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v -> c | v) WITHIN INCLUSIVE INTERVAL 1 HOUR
  DEFINE v AS event = 'view', c AS event = 'cart'
) GROUP BY user_id;
-- rows user_id:int,level:bigint
-- 1, 2
-- 2, 1
-- 3, 2

-- == sequence_match of Doris
SELECT user_id, sequence_match('(?1)(?2)', ts, event = 'view', event = 'cart') AS found FROM events GROUP BY user_id;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function sequence_match
--   1 | SELECT user_id, sequence_match('(?1)(?2)', ts, event = 'view', event = 'cart') AS found FROM events GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write MATCH_RECOGNIZE (… ONE ROW PER MATCH PATTERN (first -> second) …) and count its rows: docs/migration/clickhouse-doris.md.
-- write
SELECT user_id, bool_or(found) AS found
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts MEASURES COUNT(c.*) > 0 AS found
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v o* c | x) DEFINE v AS event = 'view', c AS event = 'cart', o AS event NOT IN ('view', 'cart'), x AS true
) GROUP BY user_id;
-- rows user_id:int,found:boolean
-- 1, true
-- 2, true
-- 3, true

-- == window_funnel of StarRocks
SELECT user_id, window_funnel(3600, ts, 0, [event = 'view', event = 'cart']) AS level FROM events GROUP BY user_id;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | SELECT user_id, window_funnel(3600, ts, 0, [event = 'view', event = 'cart']) AS level FROM events GROUP BY user_id
--     |                                            ^
-- Hint: write array(1, 2), and explode(array(1, 2)) for a row of each element.
-- write
SELECT user_id, max(steps) AS level
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts
  MEASURES COUNT(*) AS steps
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v -> c | v) WITHIN INCLUSIVE INTERVAL 1 HOUR
  DEFINE v AS event = 'view', c AS event = 'cart'
) GROUP BY user_id;
-- rows user_id:int,level:bigint
-- 1, 2
-- 2, 1
-- 3, 2

-- == windowFunnel in strict increase
SELECT user_id, windowFunnel(3600, 'strict_increase')(ts, event = 'view', event = 'cart') AS level FROM events GROUP BY user_id;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '='.
--   1 | SELECT user_id, windowFunnel(3600, 'strict_increase')(ts, event = 'view', event = 'cart') AS level FROM events GROUP BY user_id
--     |                                                                 ^
-- Hint: write MATCH_RECOGNIZE (… MEASURES COUNT(*) AS steps PATTERN (a -> b -> c | a -> b | a) …): docs/migration/clickhouse-doris.md.
-- write
SELECT user_id, max(steps) AS level
FROM events MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY ts
  MEASURES COUNT(*) AS steps
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (v -> c | v) WITHIN INCLUSIVE INTERVAL 1 HOUR
  DEFINE v AS event = 'view', c AS event = 'cart' AND c.ts > v.ts
) GROUP BY user_id;
-- rows user_id:int,level:bigint
-- 1, 2
-- 2, 1
-- 3, 2

-- == toStartOfInterval
SELECT toStartOfInterval(ts, INTERVAL 10 MINUTE) AS t, count() AS n FROM events GROUP BY t;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function toStartOfInterval
--   1 | SELECT toStartOfInterval(ts, INTERVAL 10 MINUTE) AS t, count() AS n FROM events GROUP BY t
--     |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write date_trunc('HOUR', ts), or GROUP BY the windows of TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR).
-- write
SELECT window_start AS t, count(*) AS n FROM TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL 10 MINUTES) GROUP BY window_start, window_end;
-- rows t:timestamp,n:bigint
-- 2026-01-01 09:00:00, 2
-- 2026-01-01 09:10:00, 1
-- 2026-01-01 10:00:00, 3
-- 2026-01-01 10:20:00, 1
-- 2026-01-01 11:30:00, 1
-- 2026-01-02 08:00:00, 1

-- == toStartOfInterval of weeks
SELECT toStartOfInterval(ts, INTERVAL 1 WEEK) AS t, count() AS n FROM events GROUP BY t;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function toStartOfInterval
--   1 | SELECT toStartOfInterval(ts, INTERVAL 1 WEEK) AS t, count() AS n FROM events GROUP BY t
--     |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write date_trunc('HOUR', ts), or GROUP BY the windows of TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR).
-- write
SELECT window_start AS t, count(*) AS n FROM TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL 7 DAYS, INTERVAL 4 DAYS) GROUP BY window_start, window_end;
-- rows t:timestamp,n:bigint
-- 2025-12-29 00:00:00, 9

-- == toStartOfInterval of hours that do not divide a day
SELECT toStartOfInterval(ts, INTERVAL 5 HOUR) AS t, count() AS n FROM events GROUP BY t;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function toStartOfInterval
--   1 | SELECT toStartOfInterval(ts, INTERVAL 5 HOUR) AS t, count() AS n FROM events GROUP BY t
--     |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write date_trunc('HOUR', ts), or GROUP BY the windows of TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR).
-- write
SELECT date_trunc('DAY', ts) + make_dt_interval(0, hour(ts) div 5 * 5) AS t, count(*) AS n FROM events GROUP BY t;
-- rows t:timestamp,n:bigint
-- 2026-01-01 05:00:00, 3
-- 2026-01-01 10:00:00, 5
-- 2026-01-02 05:00:00, 1

-- == dateDiff
SELECT user_id, dateDiff('hour', min(ts), max(ts)) AS hours FROM events GROUP BY user_id;
-- error
-- SQLEXT_INVALID_PARAMETER_VALUE_DATETIME_UNIT: The value of parameter(s) `unit` in `dateDiff` is invalid: expects one of the units without quotes YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, but got the string literal 'hour'.
--   1 | SELECT user_id, dateDiff('hour', min(ts), max(ts)) AS hours FROM events GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write the unit without quotes: timestampdiff(MINUTE, a, b), which counts whole units, or timestampadd(MINUTE, 5, ts).
-- write
SELECT user_id, timestampdiff(HOUR, date_trunc('HOUR', min(ts)), date_trunc('HOUR', max(ts))) AS hours FROM events GROUP BY user_id;
-- rows user_id:int,hours:bigint
-- 1, 0
-- 2, 1
-- 3, 23

-- == age
SELECT user_id, age('hour', min(ts), max(ts)) AS hours FROM events GROUP BY user_id;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function age
--   1 | SELECT user_id, age('hour', min(ts), max(ts)) AS hours FROM events GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write timestampdiff(HOUR, a, b).
-- write
SELECT user_id, timestampdiff(HOUR, min(ts), max(ts)) AS hours FROM events GROUP BY user_id;
-- rows user_id:int,hours:bigint
-- 1, 0
-- 2, 1
-- 3, 23

-- == quantile
SELECT quantileExact(0.5)(amount) AS middle FROM events WHERE amount > 1;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'AS'.
--   1 | SELECT quantileExact(0.5)(amount) AS middle FROM events WHERE amount > 1
--     |                                   ^^
-- Hint: write percentile(x, 0.9) or approx_top_k(x, 3).
-- write
SELECT element_at(array_sort(array_agg(amount)), CAST(count(amount) * 0.5 AS INT) + 1) AS middle FROM events WHERE amount > 1;
-- rows middle:int
-- 5

-- == argMaxIf
SELECT user_id, argMaxIf(amount, ts, event = 'view') AS last_view FROM events GROUP BY user_id;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function argMaxIf
--   1 | SELECT user_id, argMaxIf(amount, ts, event = 'view') AS last_view FROM events GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write max_by(x, y) FILTER (WHERE condition).
-- write
SELECT user_id, max_by(amount, ts) FILTER (WHERE event = 'view') AS last_view FROM events GROUP BY user_id;
-- rows user_id:int,last_view:int
-- 1, 5
-- 2, 1
-- 3, 3

-- == multiIf
SELECT event, multiIf(amount > 10, 'high', amount > 5, 'middle', 'low') AS level FROM events WHERE user_id = 1;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function multiIf
--   1 | SELECT event, multiIf(amount > 10, 'high', amount > 5, 'middle', 'low') AS level FROM events WHERE user_id = 1
--     |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write CASE WHEN condition THEN a … ELSE b END.
-- write
SELECT event, CASE WHEN amount > 10 THEN 'high' WHEN amount > 5 THEN 'middle' ELSE 'low' END AS level FROM events WHERE user_id = 1;
-- rows event:string,level:string
-- buy, high
-- cart, middle
-- view, low

-- == intDiv and toDate
SELECT DISTINCT toDate(ts) AS day, intDiv(amount, 4) AS q FROM events WHERE user_id = 3;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function toDate
--   1 | SELECT DISTINCT toDate(ts) AS day, intDiv(amount, 4) AS q FROM events WHERE user_id = 3
--     |                 ^^^^^^^^^^
-- Hint: write CAST(ts AS DATE).
-- write
SELECT DISTINCT CAST(ts AS DATE) AS day, amount div 4 AS q FROM events WHERE user_id = 3;
-- rows day:date,q:bigint
-- 2026-01-01, 1
-- 2026-01-01, 2
-- 2026-01-02, 0

-- == arrayJoin
SELECT arrayJoin([1, 2]) AS x;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '['.
--   1 | SELECT arrayJoin([1, 2]) AS x
--     |                  ^
-- Hint: write array(1, 2), and explode(array(1, 2)) for a row of each element.
-- write
SELECT explode(array(1, 2)) AS x;
-- rows x:int
-- 1
-- 2

-- == PREWHERE
SELECT event FROM events PREWHERE user_id = 2;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'user_id'.
--   1 | SELECT event FROM events PREWHERE user_id = 2
--     |                                   ^^^^^^^
-- Hint: write WHERE.
-- write
SELECT event FROM events WHERE user_id = 2;
-- rows event:string
-- cart
-- view

-- == WITH FILL
SELECT user_id AS x FROM events WHERE user_id <> 2 GROUP BY user_id ORDER BY x WITH FILL;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'WITH'.
--   1 | SELECT user_id AS x FROM events WHERE user_id <> 2 GROUP BY user_id ORDER BY x WITH FILL
--     |                                                                                ^^^^
-- Hint: write FROM explode(sequence(a, b)) AS t(x) LEFT JOIN … for rows without gaps.
-- write
SELECT x FROM explode(sequence(1, 3)) AS t(x) ORDER BY x;
-- rows x:int
-- 1
-- 2
-- 3
