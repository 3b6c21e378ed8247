-- Orders and shipments: what left the warehouse within two days of its order, and what did not.
--
-- An INTERVAL JOIN pairs rows whose times lie in a range: here a shipment that is not before its order and at most two
-- days after it. LEFT keeps orders without a shipment. Order 2 left in two parcels, order 3 too late, and order 5
-- before it was ordered, because someone typed a wrong number. The rows are made up.
--
-- expect:
-- order_id	ordered	parcel	hours
-- 1	2026-03-02 09:00:00	A	26
-- 2	2026-03-02 10:30:00	B	6
-- 2	2026-03-02 10:30:00	C	48
-- 3	2026-03-02 11:00:00	NULL	NULL
-- 4	2026-03-02 15:45:00	NULL	NULL
-- 5	2026-03-03 08:20:00	NULL	NULL
-- 6	2026-03-03 09:10:00	F	0

WITH orders(order_id, ordered) AS (
  VALUES
    (1, TIMESTAMP '2026-03-02 09:00:00'),
    (2, TIMESTAMP '2026-03-02 10:30:00'),
    (3, TIMESTAMP '2026-03-02 11:00:00'),
    (4, TIMESTAMP '2026-03-02 15:45:00'),
    (5, TIMESTAMP '2026-03-03 08:20:00'),
    (6, TIMESTAMP '2026-03-03 09:10:00')
),
shipments(parcel, order_id, shipped) AS (
  VALUES
    ('A', 1, TIMESTAMP '2026-03-03 11:00:00'),
    ('B', 2, TIMESTAMP '2026-03-02 16:30:00'),
    ('C', 2, TIMESTAMP '2026-03-04 10:30:00'),
    ('D', 3, TIMESTAMP '2026-03-05 07:00:00'),
    ('E', 5, TIMESTAMP '2026-03-02 17:00:00'),
    ('F', 6, TIMESTAMP '2026-03-03 09:10:00')
)
SELECT o.order_id, o.ordered, s.parcel, timestampdiff(HOUR, o.ordered, s.shipped) AS hours
FROM orders o
  LEFT INTERVAL JOIN shipments s
    ON s.order_id = o.order_id AND s.shipped BETWEEN o.ordered AND o.ordered + INTERVAL 2 DAYS
ORDER BY o.order_id, s.parcel;
