-- Customers who have stopped paying: two or more missed months at the end of their history.
--
-- $ is true only behind the last row of a partition, so bob, who missed two months and then paid again, is not in the
-- result. "paid?" is optional: dan never paid, and measures that read the missing row are NULL.
--
-- expect:
-- customer	last_paid	missed
-- ann	2026-02-01	2
-- dan	NULL	2
-- eve	2026-01-01	3

WITH payments AS (
  SELECT customer, add_months(DATE '2026-01-01', pos) AS month, status
  FROM VALUES
    ('ann', array('paid',   'paid',   'missed', 'missed')),
    ('bob', array('paid',   'missed', 'missed', 'paid')),
    ('cyd', array('paid',   'paid',   'paid',   'missed')),
    ('dan', array('missed', 'missed')),
    ('eve', array('paid',   'missed', 'missed', 'missed'))
    AS histories(customer, statuses)
  LATERAL VIEW posexplode(statuses) AS pos, status
)
SELECT *
FROM payments MATCH_RECOGNIZE (
  PARTITION BY customer
  ORDER BY month
  MEASURES
    paid.month          AS last_paid,
    COUNT(missed.month) AS missed
  PATTERN (paid? missed{2,} $)
  DEFINE
    paid   AS status = 'paid',
    missed AS status = 'missed'
)
ORDER BY customer;
