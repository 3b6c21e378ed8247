-- What users of Snowflake write: its documentation of MATCH_RECOGNIZE and ASOF JOIN, and tutorials about them.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW stock_price_history AS
SELECT company, DATE '2026-10-01' + day AS price_date, price
FROM VALUES ('ABCD', array(50, 36, 39, 42, 30, 32, 31)), ('XYZ', array(89, 24, 37, 63, 65, 56, 50, 54, 30, 32))
  AS series(company, prices) LATERAL VIEW posexplode(prices) AS day, price;
CREATE OR REPLACE TEMPORARY VIEW trades AS
SELECT * FROM VALUES ('AAPL', TIMESTAMP '2026-10-01 09:00:05', 200), ('AAPL', TIMESTAMP '2026-10-01 09:00:03', 100),
  ('SNOW', TIMESTAMP '2026-10-01 09:00:05', 150), ('SNOW', TIMESTAMP '2026-10-01 08:59:00', 70) AS trades(stock_symbol, trade_time, quantity);
CREATE OR REPLACE TEMPORARY VIEW quotes AS
SELECT * FROM VALUES ('AAPL', TIMESTAMP '2026-10-01 09:00:01', 100.0D), ('AAPL', TIMESTAMP '2026-10-01 09:00:04', 101.5D),
  ('SNOW', TIMESTAMP '2026-10-01 09:00:02', 160.0D), ('SNOW', TIMESTAMP '2026-10-01 09:00:05', 161.0D) AS quotes(stock_symbol, quote_time, bid_price);
CREATE OR REPLACE TEMPORARY VIEW companies AS
SELECT * FROM VALUES ('AAPL', 'Apples'), ('SNOW', 'Snow') AS companies(stock_symbol, name);
CREATE OR REPLACE TEMPORARY VIEW page_views AS
SELECT * FROM VALUES ('u1', TIMESTAMP '2026-10-01 10:00:00', 'home'), ('u1', TIMESTAMP '2026-10-01 10:05:00', 'product'),
  ('u1', TIMESTAMP '2026-10-01 10:06:00', 'cart'), ('u1', TIMESTAMP '2026-10-01 10:50:00', 'checkout'), ('u2', TIMESTAMP '2026-10-01 10:00:00', 'home'),
  ('u2', TIMESTAMP '2026-10-01 10:01:00', 'product'), ('u2', TIMESTAMP '2026-10-01 10:02:00', 'checkout')
  AS page_views(user_id, viewed_at, page);

-- == V shapes with LAG
SELECT * FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company
    ORDER BY price_date
    MEASURES
      MATCH_NUMBER() AS match_number,
      FIRST(price_date) AS start_date,
      LAST(price_date) AS end_date,
      COUNT(*) AS rows_in_sequence,
      COUNT(row_with_price_decrease.*) AS num_decreases,
      COUNT(row_with_price_increase.*) AS num_increases
    ONE ROW PER MATCH
    AFTER MATCH SKIP TO LAST row_with_price_increase
    PATTERN(row_before_decrease row_with_price_decrease+ row_with_price_increase+)
    DEFINE
      row_with_price_decrease AS price < LAG(price),
      row_with_price_increase AS price > LAG(price)
  )
ORDER BY company, match_number;
-- rows company:string,match_number:bigint,start_date:date,end_date:date,rows_in_sequence:bigint,num_decreases:bigint,num_increases:bigint
-- ABCD, 1, 2026-10-01, 2026-10-04, 4, 1, 2
-- ABCD, 2, 2026-10-04, 2026-10-06, 3, 1, 1
-- XYZ, 1, 2026-10-01, 2026-10-05, 5, 1, 3
-- XYZ, 2, 2026-10-05, 2026-10-08, 4, 2, 1
-- XYZ, 3, 2026-10-08, 2026-10-10, 3, 1, 1

-- == all rows with their sequence number and classifier
SELECT price_date, match_number, msq, price, cl FROM
  (SELECT * FROM stock_price_history WHERE company = 'ABCD') MATCH_RECOGNIZE(
    ORDER BY price_date
    MEASURES
      MATCH_NUMBER() AS match_number,
      MATCH_SEQUENCE_NUMBER() AS msq,
      CLASSIFIER() AS cl
    ALL ROWS PER MATCH
    PATTERN(ANY_ROW UP+)
    DEFINE
      ANY_ROW AS TRUE,
      UP AS price > LAG(price)
  )
ORDER BY match_number, msq;
-- rows price_date:date,match_number:bigint,msq:bigint,price:int,cl:string
-- 2026-10-02, 1, 1, 36, ANY_ROW
-- 2026-10-03, 1, 2, 39, UP
-- 2026-10-04, 1, 3, 42, UP
-- 2026-10-05, 2, 1, 30, ANY_ROW
-- 2026-10-06, 2, 2, 32, UP

-- == functions without parentheses
SELECT price_date, match_number, msq, cl FROM
  (SELECT * FROM stock_price_history WHERE company = 'ABCD') MATCH_RECOGNIZE(
    ORDER BY price_date
    MEASURES MATCH_NUMBER AS match_number, MATCH_SEQUENCE_NUMBER AS msq, CLASSIFIER AS cl
    ALL ROWS PER MATCH
    PATTERN(ANY_ROW UP+)
    DEFINE ANY_ROW AS TRUE, UP AS price > LAG(price)
  );
-- rows price_date:date,match_number:bigint,msq:bigint,cl:string
-- 2026-10-02, 1, 1, ANY_ROW
-- 2026-10-03, 1, 2, UP
-- 2026-10-04, 1, 3, UP
-- 2026-10-05, 2, 1, ANY_ROW
-- 2026-10-06, 2, 2, UP

-- == omit empty matches
SELECT * FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company
    ORDER BY price_date
    MEASURES MATCH_NUMBER() AS "MATCH_NUMBER", CLASSIFIER() AS cl
    ALL ROWS PER MATCH OMIT EMPTY MATCHES
    PATTERN(OVERAVG*)
    DEFINE OVERAVG AS price > 55
  )
ORDER BY company, price_date;
-- rows company:string,price_date:date,MATCH_NUMBER:bigint,cl:string,price:int
-- XYZ, 2026-10-01, 1, OVERAVG, 89
-- XYZ, 2026-10-04, 4, OVERAVG, 63
-- XYZ, 2026-10-05, 4, OVERAVG, 65
-- XYZ, 2026-10-06, 4, OVERAVG, 56

-- == with unmatched rows
SELECT company, price_date, mn, price, cl FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company
    ORDER BY price_date
    MEASURES MATCH_NUMBER() AS mn, CLASSIFIER() AS cl
    ALL ROWS PER MATCH WITH UNMATCHED ROWS
    PATTERN(OVERAVG+)
    DEFINE OVERAVG AS price > 55
  )
WHERE company = 'XYZ'
ORDER BY company, price_date;
-- rows company:string,price_date:date,mn:bigint,price:int,cl:string
-- XYZ, 2026-10-01, 1, 89, OVERAVG
-- XYZ, 2026-10-02, null, 24, null
-- XYZ, 2026-10-03, null, 37, null
-- XYZ, 2026-10-04, 2, 63, OVERAVG
-- XYZ, 2026-10-05, 2, 65, OVERAVG
-- XYZ, 2026-10-06, 2, 56, OVERAVG
-- XYZ, 2026-10-07, null, 50, null
-- XYZ, 2026-10-08, null, 54, null
-- XYZ, 2026-10-09, null, 30, null
-- XYZ, 2026-10-10, null, 32, null

-- == excluded rows
SELECT company, price_date, price FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company
    ORDER BY price_date
    MEASURES FINAL COUNT(LT45.*) AS num_low
    ALL ROWS PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN({- LT45 -} GE30+ )
    DEFINE LT45 AS price < 45.00, GE30 AS price > LAG(price)
  )
ORDER BY company, price_date;
-- rows company:string,price_date:date,price:int
-- ABCD, 2026-10-03, 39
-- ABCD, 2026-10-04, 42
-- ABCD, 2026-10-06, 32
-- XYZ, 2026-10-03, 37
-- XYZ, 2026-10-04, 63
-- XYZ, 2026-10-05, 65
-- XYZ, 2026-10-10, 32

-- == the largest matches
SELECT company, num_matched_rows FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company
    ORDER BY price_date
    MEASURES COUNT(*) AS num_matched_rows
    ONE ROW PER MATCH
    PATTERN(LT50 GT10+)
    DEFINE LT50 AS price < 50.00, GT10 AS price > 10.00
  )
ORDER BY company, num_matched_rows;
-- rows company:string,num_matched_rows:bigint
-- ABCD, 6
-- XYZ, 9

-- == running and final measures
SELECT price_date, running_avg, final_avg, days FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company
    ORDER BY price_date
    MEASURES
      RUNNING AVG(price) AS running_avg,
      FINAL AVG(price) AS final_avg,
      FINAL COUNT(*) AS days
    ALL ROWS PER MATCH
    PATTERN(^ A A A)
    DEFINE A AS TRUE
  )
WHERE company = 'ABCD';
-- rows price_date:date,running_avg:double,final_avg:double,days:bigint
-- 2026-10-01, 50.0, 41.666666666666664, 3
-- 2026-10-02, 43.0, 41.666666666666664, 3
-- 2026-10-03, 41.666666666666664, 41.666666666666664, 3

-- == the values of a match, in an array
SELECT company, prices FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company ORDER BY price_date
    MEASURES ARRAY_AGG(up.price) AS prices
    PATTERN(up{2,})
    DEFINE up AS price > LAG(price)
  );
-- rows company:string,prices:array<int>
-- ABCD, [39, 42]
-- XYZ, [37, 63, 65]

-- == LEAD
SELECT company, price_date, price FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company ORDER BY price_date
    ALL ROWS PER MATCH
    PATTERN(PEAK)
    DEFINE PEAK AS price > LAG(price, 1) AND price > LEAD(price, 1)
  )
ORDER BY company, price_date;
-- rows company:string,price_date:date,price:int
-- ABCD, 2026-10-04, 42
-- ABCD, 2026-10-06, 32
-- XYZ, 2026-10-05, 65
-- XYZ, 2026-10-08, 54

-- == a measure without AS
SELECT * FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company ORDER BY price_date
    MEASURES FIRST(price) first_price, LAST(price) last_price
    PATTERN(LOW HIGH)
    DEFINE LOW AS price < 40, HIGH AS price > 50
  );
-- rows company:string,first_price:int,last_price:int
-- XYZ, 37, 63

-- == a percentage of an earlier price
SELECT company, start_date, drop_pct FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company ORDER BY price_date
    MEASURES high.price_date AS start_date, ROUND(100 * (1 - low.price / high.price), 1) AS drop_pct
    PATTERN(high between_rows* low)
    DEFINE
      between_rows AS price >= 0.8 * high.price,
      low AS price < 0.8 * high.price
  );
-- rows company:string,start_date:date,drop_pct:double
-- ABCD, 2026-10-01, 28.0
-- ABCD, 2026-10-03, 23.1
-- XYZ, 2026-10-01, 73.0
-- XYZ, 2026-10-04, 20.6
-- XYZ, 2026-10-08, 44.4

-- == a funnel with a limit of time
SELECT user_id, minutes FROM page_views
  MATCH_RECOGNIZE(
    PARTITION BY user_id ORDER BY viewed_at
    MEASURES DATEDIFF(minute, home.viewed_at, checkout.viewed_at) AS minutes
    PATTERN(home other* checkout)
    DEFINE
      home AS page = 'home',
      other AS page <> 'checkout',
      checkout AS page = 'checkout' AND DATEDIFF(minute, home.viewed_at, checkout.viewed_at) <= 30
  );
-- rows user_id:string,minutes:bigint
-- u2, 2

-- == sessions by a gap
SELECT user_id, session, first_view, views FROM page_views
  MATCH_RECOGNIZE(
    PARTITION BY user_id ORDER BY viewed_at
    MEASURES MATCH_NUMBER() AS session, FIRST(viewed_at) AS first_view, COUNT(*) AS views
    PATTERN(first_row same_session*)
    DEFINE same_session AS TIMESTAMPDIFF(minute, LAG(viewed_at), viewed_at) < 30
  );
-- rows user_id:string,session:bigint,first_view:timestamp,views:bigint
-- u1, 1, 2026-10-01 10:00:00, 3
-- u1, 2, 2026-10-01 10:50:00, 1
-- u2, 1, 2026-10-01 10:00:00, 3

-- == text, casts and lists
SELECT user_id, day, pages FROM page_views
  MATCH_RECOGNIZE(
    PARTITION BY user_id ORDER BY viewed_at
    MEASURES FIRST(viewed_at)::date AS day, LISTAGG(page, '>') WITHIN GROUP (ORDER BY viewed_at) AS pages
    PATTERN(start next_page+)
    DEFINE next_page AS viewed_at::date = start.viewed_at::date AND page NOT LIKE 'che%'
  );
-- rows user_id:string,day:date,pages:string
-- u1, 2026-10-01, home>product>cart
-- u2, 2026-10-01, home>product

-- == IFF in a condition of several rows
SELECT company, days FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company ORDER BY price_date
    MEASURES COUNT(*) AS days
    PATTERN(a b+)
    DEFINE b AS price > IFF(a.price > 50, a.price / 2, a.price)
  );
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function IFF
--   6 |     DEFINE b AS price > IFF(a.price > 50, a.price / 2, a.price)
--     |                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write if(condition, a, b).
-- write
SELECT company, days FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company ORDER BY price_date
    MEASURES COUNT(*) AS days
    PATTERN(a b+)
    DEFINE b AS price > IF(a.price > 50, a.price / 2, a.price)
  );
-- rows company:string,days:bigint
-- ABCD, 3
-- ABCD, 3
-- XYZ, 9

-- == the nearest earlier quote
SELECT t.stock_symbol, t.trade_time, t.quantity, q.quote_time, q.bid_price
  FROM trades t ASOF JOIN quotes q
    MATCH_CONDITION(t.trade_time >= q.quote_time)
    ON t.stock_symbol = q.stock_symbol
ORDER BY t.stock_symbol;
-- rows stock_symbol:string,trade_time:timestamp,quantity:int,quote_time:timestamp,bid_price:double
-- AAPL, 2026-10-01 09:00:03, 100, 2026-10-01 09:00:01, 100.0
-- AAPL, 2026-10-01 09:00:05, 200, 2026-10-01 09:00:04, 101.5
-- SNOW, 2026-10-01 09:00:05, 150, 2026-10-01 09:00:05, 161.0

-- == the nearest earlier quote, with rows that have none
SELECT t.stock_symbol, t.trade_time, q.bid_price
  FROM trades t ASOF LEFT JOIN quotes q
    MATCH_CONDITION(t.trade_time >= q.quote_time)
    ON t.stock_symbol = q.stock_symbol;
-- rows stock_symbol:string,trade_time:timestamp,bid_price:double
-- AAPL, 2026-10-01 09:00:03, 100.0
-- AAPL, 2026-10-01 09:00:05, 101.5
-- SNOW, 2026-10-01 08:59:00, null
-- SNOW, 2026-10-01 09:00:05, 161.0

-- == ASOF JOIN with USING
SELECT stock_symbol, trade_time, bid_price
  FROM trades t ASOF JOIN quotes q
    MATCH_CONDITION(trade_time <= quote_time)
    USING(stock_symbol);
-- rows stock_symbol:string,trade_time:timestamp,bid_price:double
-- AAPL, 2026-10-01 09:00:03, 101.5
-- SNOW, 2026-10-01 08:59:00, 160.0
-- SNOW, 2026-10-01 09:00:05, 161.0

-- == two joins
SELECT t.stock_symbol, c.name, q.bid_price
  FROM trades t ASOF JOIN quotes q
    MATCH_CONDITION(t.trade_time > q.quote_time)
    ON t.stock_symbol = q.stock_symbol
  INNER JOIN companies c ON c.stock_symbol = t.stock_symbol;
-- rows stock_symbol:string,name:string,bid_price:double
-- AAPL, Apples, 100.0
-- AAPL, Apples, 101.5
-- SNOW, Snow, 160.0

-- == ASOF JOIN in a CTE
WITH priced AS (
  SELECT t.*, q.bid_price
  FROM trades t ASOF JOIN quotes q
  MATCH_CONDITION(t.trade_time >= q.quote_time)
  ON t.stock_symbol = q.stock_symbol)
SELECT stock_symbol, SUM(quantity * bid_price) AS traded FROM priced GROUP BY stock_symbol ORDER BY stock_symbol;
-- rows stock_symbol:string,traded:double
-- AAPL, 30300.0
-- SNOW, 24150.0

-- == aggregates as window functions in DEFINE
SELECT company, price_date, price FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company ORDER BY price_date
    ALL ROWS PER MATCH
    PATTERN(LOWEST)
    DEFINE LOWEST AS price = MIN(price) OVER (ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING)
  );
-- error
-- SQLEXT_WINDOW_FUNCTION: a window function is not allowed in MATCH_RECOGNIZE
--   6 |     DEFINE LOWEST AS price = MIN(price) OVER (ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING)
--     |                              ^^^^^^^^^^^^^^^
-- Hint: compute it in a subquery that is the input.
-- write
SELECT company, price_date, price FROM (
  SELECT *, MIN(price) OVER (PARTITION BY company ORDER BY price_date ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS lowest
  FROM stock_price_history)
  MATCH_RECOGNIZE(
    PARTITION BY company ORDER BY price_date
    ALL ROWS PER MATCH
    PATTERN(LOWEST_DAY)
    DEFINE LOWEST_DAY AS price = lowest
  );
-- rows company:string,price_date:date,price:int
-- ABCD, 2026-10-02, 36
-- ABCD, 2026-10-05, 30
-- XYZ, 2026-10-02, 24
-- XYZ, 2026-10-09, 30

-- == the first and last value of the window
SELECT company, first_price, last_price FROM stock_price_history
  MATCH_RECOGNIZE(
    PARTITION BY company ORDER BY price_date
    MEASURES FIRST_VALUE(price) AS first_price, LAST_VALUE(price) AS last_price
    PATTERN(a up{2})
    DEFINE up AS price > LAG(price)
  );
-- rows company:string,first_price:int,last_price:int
-- ABCD, 36, 42
-- XYZ, 24, 63

-- == the difference of two times in minutes
SELECT *
FROM page_views MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY viewed_at
  MEASURES DATEDIFF('minute', FIRST(viewed_at), LAST(viewed_at)) AS minutes
  PATTERN (home any_page* checkout)
  DEFINE home AS page = 'home', checkout AS page = 'checkout'
);
-- error
-- SQLEXT_INVALID_PARAMETER_VALUE_DATETIME_UNIT: The value of parameter(s) `unit` in `DATEDIFF` is invalid: expects one of the units without quotes YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, but got the string literal 'minute'.
--   4 |   MEASURES DATEDIFF('minute', FIRST(viewed_at), LAST(viewed_at)) AS minutes
--     |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write the unit without quotes: timestampdiff(MINUTE, a, b), which counts whole units, or timestampadd(MINUTE, 5, ts).
-- write
SELECT *
FROM page_views MATCH_RECOGNIZE (
  PARTITION BY user_id ORDER BY viewed_at
  MEASURES DATEDIFF(MINUTE, FIRST(viewed_at), LAST(viewed_at)) AS minutes
  PATTERN (home any_page* checkout)
  DEFINE home AS page = 'home', checkout AS page = 'checkout'
);
-- rows user_id:string,minutes:bigint
-- u1, 50
-- u2, 2

-- == CONDITIONAL_TRUE_EVENT
SELECT user_id, page, CONDITIONAL_TRUE_EVENT(page = 'home') OVER (PARTITION BY user_id ORDER BY viewed_at) AS visit FROM page_views;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function CONDITIONAL_TRUE_EVENT
--   1 | SELECT user_id, page, CONDITIONAL_TRUE_EVENT(page = 'home') OVER (PARTITION BY user_id ORDER BY viewed_at) AS visit FROM page_views
--     |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write count_if(condition) OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED PRECEDING).
-- write
SELECT user_id, page, count_if(page = 'home') OVER (PARTITION BY user_id ORDER BY viewed_at) AS visit FROM page_views;
-- rows user_id:string,page:string,visit:bigint
-- u1, cart, 1
-- u1, checkout, 1
-- u1, home, 1
-- u1, product, 1
-- u2, checkout, 1
-- u2, home, 1
-- u2, product, 1

-- == TIME_SLICE
SELECT TIME_SLICE(viewed_at, 10, 'MINUTE') AS slice, COUNT(*) AS n FROM page_views GROUP BY slice;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function TIME_SLICE
--   1 | SELECT TIME_SLICE(viewed_at, 10, 'MINUTE') AS slice, COUNT(*) AS n FROM page_views GROUP BY slice
--     |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write date_trunc('HOUR', ts), or GROUP BY the windows of TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR).
-- write
SELECT window_start AS slice, COUNT(*) AS n FROM TUMBLE(TABLE page_views, DESCRIPTOR(viewed_at), INTERVAL 10 MINUTES) GROUP BY window_start, window_end;
-- rows slice:timestamp,n:bigint
-- 2026-10-01 10:00:00, 6
-- 2026-10-01 10:50:00, 1

-- == ARRAY_AGG WITHIN GROUP
SELECT user_id, ARRAY_AGG(page) WITHIN GROUP (ORDER BY viewed_at) AS path FROM page_views GROUP BY user_id;
-- error
-- SQLEXT_INVALID_SQL_SYNTAX_FUNCTION_WITH_UNSUPPORTED_SYNTAX: Invalid SQL syntax: The function `collect_list` does not support WITHIN GROUP (ORDER BY ...).
--   1 | SELECT user_id, ARRAY_AGG(page) WITHIN GROUP (ORDER BY viewed_at) AS path FROM page_views GROUP BY user_id
--     |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write listagg(x, ','), or transform(array_sort(array_agg(struct(y, x))), e -> e.x).
-- write
SELECT user_id, transform(array_sort(array_agg(struct(viewed_at, page))), e -> e.page) AS path FROM page_views GROUP BY user_id;
-- rows user_id:string,path:array<string>
-- u1, [home, product, cart, checkout]
-- u2, [home, product, checkout]

-- == FLATTEN
SELECT f.value AS page FROM (SELECT ARRAY_AGG(page) AS pages FROM page_views) t, LATERAL FLATTEN(input => t.pages) f;
-- error
-- SQLEXT_NOT_A_TABLE_FUNCTION: `flatten` appears as a table function here, but the function was defined as a scalar function. Please update the query to move the function call outside the FROM clause, or redefine `flatten` as a table function instead.
--   1 | SELECT f.value AS page FROM (SELECT ARRAY_AGG(page) AS pages FROM page_views) t, LATERAL FLATTEN(input => t.pages) f
--     |                                                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write FROM explode(array(1, 2)) AS t(x), or FROM t, LATERAL explode(t.items) AS u(x).
-- write
SELECT f.value AS page FROM (SELECT ARRAY_AGG(page) AS pages FROM page_views) t, LATERAL explode(t.pages) AS f(value);
-- rows page:string
-- cart
-- checkout
-- checkout
-- home
-- home
-- product
-- product

-- == DIV0
SELECT DIV0(quantity, 0) AS ratio FROM trades;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function DIV0
--   1 | SELECT DIV0(quantity, 0) AS ratio FROM trades
--     |        ^^^^^^^^^^^^^^^^^
-- Hint: write coalesce(try_divide(a, b), 0).
-- write
SELECT coalesce(try_divide(quantity, 0), 0) AS ratio FROM trades;
-- rows ratio:double
-- 0.0
-- 0.0
-- 0.0
-- 0.0

-- == QUALIFY after the clause
SELECT company, low
FROM stock_price_history MATCH_RECOGNIZE (
  PARTITION BY company ORDER BY price_date
  MEASURES MIN(price) AS low
  PATTERN (strt down+ up+)
  DEFINE down AS price < LAG(price), up AS price > LAG(price)
)
QUALIFY ROW_NUMBER() OVER (PARTITION BY company ORDER BY low) = 1;
-- rows company:string,low:int
-- ABCD, 36
-- XYZ, 24

-- == the time of the quote, as MATCH_CONDITION of an expression
SELECT t.stock_symbol, t.trade_time, q.bid_price
FROM trades t ASOF JOIN quotes q MATCH_CONDITION (t.trade_time > q.quote_time) ON t.stock_symbol = q.stock_symbol
WHERE t.quantity::int >= 100 AND q.bid_price ILIKE '1%';
-- rows stock_symbol:string,trade_time:timestamp,bid_price:double
-- AAPL, 2026-10-01 09:00:03, 100.0
-- AAPL, 2026-10-01 09:00:05, 101.5
-- SNOW, 2026-10-01 09:00:05, 160.0
