-- A row pattern in the WINDOW clause: every day keeps its row, and says whether the price falls and recovers from it.
--
-- The frame, the current row and at most five rows after it, is where the pattern is matched for each row. A day from
-- which the price falls (down+) and then rises (up+) has a match: `bottom` is a measure of the window, and aggregates
-- over the window see the rows of the match. The other days have none: their measures are NULL, and they count 0 rows.
-- SKIP TO NEXT ROW tries every day. Ordinary windows, joins and filters stand beside it in the same query.
--
-- expect:
-- day	price	bottom	days	best_gain	change
-- 1	20	15	5	1	NULL
-- 2	18	15	4	3	-2
-- 3	15	NULL	0	NULL	-3
-- 4	17	NULL	0	NULL	2
-- 5	21	16	4	0	4
-- 6	19	16	3	0	-2
-- 7	16	NULL	0	NULL	-3
-- 8	18	NULL	0	NULL	2

WITH prices(day, price) AS (
  VALUES (1, 20), (2, 18), (3, 15), (4, 17), (5, 21), (6, 19), (7, 16), (8, 18)
)
SELECT
  day,
  price,
  bottom OVER dip                      AS bottom,
  count(*) OVER dip                    AS days,
  max(price) OVER dip - price          AS best_gain,
  price - lag(price) OVER (ORDER BY day) AS change
FROM prices
WINDOW dip AS (
  ORDER BY day
  MEASURES LAST(down.price) AS bottom
  ROWS BETWEEN CURRENT ROW AND 5 FOLLOWING
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (top down+ up+)
  DEFINE
    down AS price < PREV(price),
    up   AS price > PREV(price)
)
ORDER BY day;
