-- Abandoned carts: something is put into the cart, and for an hour nothing is bought.
--
-- "!-> buy" at the end of a pattern waits for what does not happen: the match holds when the hour of WITHIN has passed
-- without a purchase. Whatever else the customer does is skipped. Bob bought after 59 minutes, Cyd after exactly an
-- hour, which is too late. After an abandoned cart matching goes on behind it: Ann's second try is a match of its own.
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
  MEASURES put.at AS put_at, put.article AS article
  PATTERN (put !-> buy) WITHIN INTERVAL 1 HOUR
  DEFINE
    put AS action = 'put',
    buy AS action = 'buy'
)
ORDER BY customer, put_at;
