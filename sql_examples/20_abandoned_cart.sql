-- Abandoned carts: something is put into the cart, and nothing is bought for an hour.
--
-- "!-> buy" at the end of a pattern requires an absence: there is a match when the hour of WITHIN has passed without a
-- purchase. All other events of the customer are skipped. Bob bought after 59 minutes, and Cyd after exactly an hour,
-- which is too late. After an abandoned cart the search resumes behind it: Ann's second cart is a match of its own.
--
-- expect:
-- customer	put_at	article
-- ann	2026-03-02 08:00:00	lamp
-- ann	2026-03-02 10:00:00	desk
-- cyd	2026-03-02 08:00:00	chair

WITH clicks(customer, at, action, article) AS (
  VALUES
    ('ann', TIMESTAMP '2026-03-02 08:00:00', 'put', 'lamp'),
    ('ann', TIMESTAMP '2026-03-02 08:10:00', 'look', 'rug'),
    ('ann', TIMESTAMP '2026-03-02 10:00:00', 'put', 'desk'),
    ('bob', TIMESTAMP '2026-03-02 08:00:00', 'put', 'sofa'),
    ('bob', TIMESTAMP '2026-03-02 08:30:00', 'look', 'lamp'),
    ('bob', TIMESTAMP '2026-03-02 08:59:00', 'buy', 'sofa'),
    ('cyd', TIMESTAMP '2026-03-02 08:00:00', 'put', 'chair'),
    ('cyd', TIMESTAMP '2026-03-02 09:00:00', 'buy', 'chair')
)
SELECT *
FROM clicks MATCH_RECOGNIZE (
  PARTITION BY customer
  ORDER BY at
  MEASURES
    put.at      AS put_at,
    put.article AS article
  PATTERN (put !-> buy) WITHIN INTERVAL 1 HOUR
  DEFINE
    put AS action = 'put',
    buy AS action = 'buy'
)
ORDER BY customer, put_at;
