-- V shapes: a price falls for some days and then rises again.
--
-- "start" has no condition, so it is true for every row: it maps the last day before the fall. "down+" and "up+" map
-- as many days as they can. With SKIP TO LAST up, the next V may begin at the peak where this one ends. By default it
-- would begin a day later, and the second fall of ACME, from the 6th on, would be missed.
--
-- expect:
-- symbol	fell_from	bottom_on	rose_until	fell	rose
-- ACME	2026-03-02	2026-03-04	2026-03-06	5	6
-- ACME	2026-03-06	2026-03-08	2026-03-09	5	2
-- GLOBEX	2026-03-04	2026-03-05	2026-03-06	2	3

WITH ticker AS (
  SELECT symbol, DATE '2026-03-02' + pos AS day, price
  FROM VALUES
    ('ACME',   array(20, 18, 15, 17, 21, 19, 16, 18, 18)),
    ('GLOBEX', array(30, 31, 32, 30, 33))
    AS series(symbol, prices)
  LATERAL VIEW posexplode(prices) AS pos, price
)
SELECT *
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY day
  MEASURES
    start.day                         AS fell_from,
    LAST(down.day)                    AS bottom_on,
    LAST(up.day)                      AS rose_until,
    start.price - LAST(down.price)    AS fell,
    LAST(up.price) - LAST(down.price) AS rose
  AFTER MATCH SKIP TO LAST up
  PATTERN (start down+ up+)
  DEFINE
    down AS price < PREV(price),
    up   AS price > PREV(price)
)
ORDER BY symbol, fell_from;
