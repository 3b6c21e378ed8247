-- A funnel: of the visits that viewed a product, how many put it into the cart, and how many bought it within the
-- hour?
--
-- The nested optional groups ( ... ( ... )? )? mean that a later step counts only after the earlier ones. "?" is
-- greedy, so the longest match is preferred. "other*?" is reluctant: it maps as few rows as possible before the
-- nearest cart. WITHIN limits the whole match, from its first to its last row, to less than an hour: bob buys after 65
-- minutes, so only his cart counts. The result of the clause is a relation like any other; here it is grouped.
--
-- expect:
-- reached	visits	slowest_minutes
-- bought	2	40
-- cart	1	30
-- viewed	1	0

WITH shop(visitor, at, action) AS (
  VALUES
    ('ann', TIMESTAMP '2026-03-02 10:00:00', 'view'),
    ('ann', TIMESTAMP '2026-03-02 10:05:00', 'search'),
    ('ann', TIMESTAMP '2026-03-02 10:07:00', 'cart'),
    ('ann', TIMESTAMP '2026-03-02 10:20:00', 'search'),
    ('ann', TIMESTAMP '2026-03-02 10:40:00', 'buy'),
    ('bob', TIMESTAMP '2026-03-02 10:00:00', 'view'),
    ('bob', TIMESTAMP '2026-03-02 10:30:00', 'cart'),
    ('bob', TIMESTAMP '2026-03-02 11:05:00', 'buy'),
    ('cyd', TIMESTAMP '2026-03-02 09:00:00', 'view'),
    ('cyd', TIMESTAMP '2026-03-02 09:10:00', 'search'),
    ('dan', TIMESTAMP '2026-03-02 12:00:00', 'view'),
    ('dan', TIMESTAMP '2026-03-02 12:10:00', 'view'),
    ('dan', TIMESTAMP '2026-03-02 12:12:00', 'cart'),
    ('dan', TIMESTAMP '2026-03-02 12:15:00', 'buy')
)
SELECT reached, count(*) AS visits, max(minutes) AS slowest_minutes
FROM shop MATCH_RECOGNIZE (
  PARTITION BY visitor
  ORDER BY at
  MEASURES
    CASE WHEN buy.at IS NOT NULL THEN 'bought' WHEN cart.at IS NOT NULL THEN 'cart' ELSE 'viewed' END AS reached,
    timestampdiff(MINUTE, view.at, LAST(at)) AS minutes
  PATTERN (view (other*? cart (other*? buy)?)?) WITHIN INTERVAL 1 HOUR
  DEFINE
    view AS action = 'view',
    cart AS action = 'cart',
    buy  AS action = 'buy'
)
GROUP BY reached
ORDER BY visits DESC, reached;
