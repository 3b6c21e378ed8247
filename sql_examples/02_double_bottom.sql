-- Double bottoms (a W): two lows at nearly the same price, then a close above the peak between them.
--
-- The conditions of "rise" and "breakout" depend on the match so far: LAST(up.price) is the peak of this match, and
-- LAST(down.price) and LAST(dip.price) are its two lows. A window function cannot compute them, because it does not
-- know where the legs begin. GLOBEX falls 7 % lower the second time, so it is not a double bottom.
--
-- expect:
-- symbol	first_low	peak	second_low	broke_out_on	at_price
-- ACME	100	108	101	2026-03-10	109

WITH ticker AS (
  SELECT symbol, DATE '2026-03-02' + pos AS day, price
  FROM VALUES
    ('ACME',   array(110, 104, 100, 103, 108, 104, 101, 105, 109, 112, 111)),
    ('GLOBEX', array(110, 104, 100, 103, 108, 104,  93, 105, 109, 112, 111))
    AS series(symbol, prices)
  LATERAL VIEW posexplode(prices) AS pos, price
)
SELECT *
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY day
  MEASURES
    LAST(down.price) AS first_low,
    LAST(up.price)   AS peak,
    LAST(dip.price)  AS second_low,
    breakout.day     AS broke_out_on,
    breakout.price   AS at_price
  PATTERN (start down+ up+ dip+ rise* breakout)
  DEFINE
    down     AS price < PREV(price),
    up       AS price > PREV(price),
    dip      AS price < PREV(price),
    rise     AS price > PREV(price) AND price <= LAST(up.price),
    breakout AS price > LAST(up.price)
        AND abs(LAST(dip.price) - LAST(down.price)) <= 0.03 * LAST(down.price)
);
