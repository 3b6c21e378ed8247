-- A funnel in a table that stays right: how far each visitor came, also after events were corrected.
--
-- The view has a row for each visit that reached the cart. REFRESH computes the visitors anew whose events have changed,
-- and replaces the rows that differ: that of bob, who had paid. DESCRIBE says how many rows that were.
--
-- expect:
-- visitor	began	reached
-- ann	2026-03-02 10:00:00	paid
-- bob	2026-03-02 11:00:00	cart
--
-- expect:
-- num_affected_rows
-- 1
--
-- expect:
-- visitor	began	reached
-- ann	2026-03-02 10:00:00	paid
-- bob	2026-03-02 11:00:00	paid

CREATE OR REPLACE TABLE example_events AS
SELECT *
FROM VALUES
  ('ann', TIMESTAMP '2026-03-02 10:00:00', 'view'),
  ('ann', TIMESTAMP '2026-03-02 10:02:00', 'cart'),
  ('ann', TIMESTAMP '2026-03-02 10:05:00', 'paid'),
  ('bob', TIMESTAMP '2026-03-02 11:00:00', 'view'),
  ('bob', TIMESTAMP '2026-03-02 11:04:00', 'cart'),
  ('bob', TIMESTAMP '2026-03-02 11:10:00', 'failed'),
  ('cat', TIMESTAMP '2026-03-02 12:00:00', 'view')
  AS events(visitor, at, page);

CREATE MATERIALIZED VIEW example_funnel AS
SELECT visitor, began, reached
FROM example_events MATCH_RECOGNIZE (
  PARTITION BY visitor
  ORDER BY at
  MEASURES
    seen.at    AS began,
    LAST(page) AS reached
  PATTERN (seen -> cart (-> paid)?) WITHIN INTERVAL 1 HOUR
  DEFINE
    seen AS page = 'view',
    cart AS page = 'cart',
    paid AS page = 'paid'
);

SELECT * FROM example_funnel ORDER BY visitor, began;

UPDATE example_events SET page = 'paid' WHERE visitor = 'bob' AND page = 'failed';

REFRESH MATERIALIZED VIEW example_funnel;

SELECT * FROM example_funnel ORDER BY visitor, began;

DROP MATERIALIZED VIEW example_funnel;
DROP TABLE example_events;
