-- What users of Flink SQL write: its documentation of pattern recognition, joins and windows, and its cookbooks. The
-- rows of MATCH_RECOGNIZE, of aggregates and of windows are those of Flink 2.3.0 in streaming mode.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW Ticker AS
SELECT * FROM VALUES ('ACME', TIMESTAMP '2026-06-01 10:00:00', 12, 1), ('ACME', TIMESTAMP '2026-06-01 10:00:01', 17, 2),
  ('ACME', TIMESTAMP '2026-06-01 10:00:02', 19, 1), ('ACME', TIMESTAMP '2026-06-01 10:00:03', 21, 3), ('ACME', TIMESTAMP '2026-06-01 10:00:04', 16, 2),
  ('ACME', TIMESTAMP '2026-06-01 10:00:05', 14, 1), ('ACME', TIMESTAMP '2026-06-01 10:00:06', 13, 2), ('ACME', TIMESTAMP '2026-06-01 10:00:07', 15, 1),
  ('ACME', TIMESTAMP '2026-06-01 12:00:08', 20, 4), ('ACME', TIMESTAMP '2026-06-01 12:00:09', 11, 1)
  AS Ticker(symbol, rowtime, price, tax);
CREATE OR REPLACE TEMPORARY VIEW MyTable AS
SELECT * FROM VALUES (1, 'a', 7, TIMESTAMP '2026-06-01 00:00:01'), (2, 'b', 7, TIMESTAMP '2026-06-01 00:00:02'), (3, 'c', 7, TIMESTAMP '2026-06-01 00:00:03'),
  (4, 'a', 8, TIMESTAMP '2026-06-01 00:00:01'), (5, 'c', 8, TIMESTAMP '2026-06-01 00:00:02'), (6, 'a', 7, TIMESTAMP '2026-06-01 00:00:04')
  AS MyTable(id, name, userid, proctime);
CREATE OR REPLACE TEMPORARY VIEW Orders AS
SELECT * FROM VALUES (1, 'EUR', 10, TIMESTAMP '2026-06-01 10:15:00'), (2, 'USD', 5, TIMESTAMP '2026-06-01 10:30:00'), (3, 'EUR', 7, TIMESTAMP '2026-06-01 11:10:00')
  AS Orders(id, currency, amount, order_time);
CREATE OR REPLACE TEMPORARY VIEW Shipments AS
SELECT * FROM VALUES (11, 1, TIMESTAMP '2026-06-01 12:00:00'), (12, 2, TIMESTAMP '2026-06-01 15:00:00'), (13, 3, TIMESTAMP '2026-06-01 15:10:00')
  AS Shipments(id, order_id, ship_time);
CREATE OR REPLACE TEMPORARY VIEW RatesHistory AS
SELECT * FROM VALUES ('EUR', 114, TIMESTAMP '2026-06-01 09:00:00'), ('USD', 100, TIMESTAMP '2026-06-01 09:00:00'), ('EUR', 116, TIMESTAMP '2026-06-01 11:00:00')
  AS RatesHistory(currency, rate, update_time);
CREATE OR REPLACE TEMPORARY VIEW Bid AS
SELECT * FROM VALUES (TIMESTAMP '2026-06-01 08:05:00', 4, 'C'), (TIMESTAMP '2026-06-01 08:07:00', 2, 'A'), (TIMESTAMP '2026-06-01 08:09:00', 5, 'D'),
  (TIMESTAMP '2026-06-01 08:11:00', 3, 'B'), (TIMESTAMP '2026-06-01 08:13:00', 1, 'E'), (TIMESTAMP '2026-06-01 08:17:00', 6, 'F')
  AS Bid(bidtime, price, item);
CREATE OR REPLACE TEMPORARY VIEW Logins AS
SELECT * FROM VALUES ('u', 'fail', TIMESTAMP '2026-06-01 07:00:00'), ('u', 'fail', TIMESTAMP '2026-06-01 07:00:02'), ('u', 'ok', TIMESTAMP '2026-06-01 07:00:03'),
  ('v', 'fail', TIMESTAMP '2026-06-01 07:00:00'), ('v', 'fail', TIMESTAMP '2026-06-01 07:00:20') AS Logins(userid, type, ts);

-- == three names in a row
SELECT T.aid, T.bid, T.cid
FROM MyTable
    MATCH_RECOGNIZE (
      PARTITION BY userid
      ORDER BY proctime
      MEASURES
        A.id AS aid,
        B.id AS bid,
        C.id AS cid
      PATTERN (A B C)
      DEFINE
        A AS name = 'a',
        B AS name = 'b',
        C AS name = 'c'
    ) AS T;
-- rows aid:int,bid:int,cid:int
-- 1, 2, 3

-- == periods of a falling price
SELECT *
FROM Ticker
    MATCH_RECOGNIZE (
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            START_ROW.rowtime AS start_tstamp,
            LAST(PRICE_DOWN.rowtime) AS bottom_tstamp,
            LAST(PRICE_UP.rowtime) AS end_tstamp
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO LAST PRICE_UP
        PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
        DEFINE
            PRICE_DOWN AS
                (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
                    PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
            PRICE_UP AS
                PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
    ) MR;
-- rows symbol:string,start_tstamp:timestamp,bottom_tstamp:timestamp,end_tstamp:timestamp
-- ACME, 2026-06-01 10:00:03, 2026-06-01 10:00:06, 2026-06-01 10:00:07

-- == differs: an average of integers is an integer, and a greedy loop gives no row back
SELECT *
FROM Ticker
    MATCH_RECOGNIZE (
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            FIRST(A.rowtime) AS start_tstamp,
            LAST(A.rowtime) AS end_tstamp,
            AVG(A.price) AS avgPrice
        ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A+ B)
        DEFINE
            A AS AVG(A.price) < 15
    ) MR;
-- rows symbol:string,start_tstamp:timestamp,end_tstamp:timestamp,avgPrice:double
-- ACME, 2026-06-01 10:00:00, 2026-06-01 10:00:01, 14.5
-- ACME, 2026-06-01 10:00:05, 2026-06-01 10:00:07, 14.0
-- write
SELECT *
FROM Ticker
    MATCH_RECOGNIZE (
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            FIRST(A.rowtime) AS start_tstamp,
            LAST(A.rowtime) AS end_tstamp,
            CAST(AVG(A.price) AS INT) AS avgPrice
        ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A++ B)
        DEFINE
            A AS CAST(AVG(A.price) AS INT) < 15
    ) MR;
-- rows symbol:string,start_tstamp:timestamp,end_tstamp:timestamp,avgPrice:int
-- ACME, 2026-06-01 10:00:00, 2026-06-01 10:00:01, 14
-- ACME, 2026-06-01 10:00:05, 2026-06-01 10:00:07, 14

-- == a limit of time
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            C.rowtime AS dropTime,
            A.price - C.price AS dropDiff
        ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B* C) WITHIN INTERVAL '1' HOUR
        DEFINE
            B AS B.price > A.price - 4,
            C AS C.price < A.price - 4
    );
-- rows symbol:string,dropTime:timestamp,dropDiff:int
-- ACME, 2026-06-01 10:00:05, 5
-- ACME, 2026-06-01 12:00:09, 9

-- == a greedy quantifier
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            C.price AS lastPrice
        ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B* C)
        DEFINE
            A AS A.price > 10,
            B AS B.price < 20,
            C AS C.price > 12
    );
-- rows symbol:string,lastPrice:int
-- ACME, 20
-- ACME, 21

-- == differs: a greedy loop gives no row back, not even to complete the match
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES A.price AS first, COUNT(B.price) AS n, C.price AS last
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B+ C)
        DEFINE A AS A.price > 10, B AS B.price > 12, C AS C.price > 13
    );
-- rows symbol:string,first:int,n:bigint,last:int
-- ACME, 12, 7, 20
-- write
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES A.price AS first, COUNT(B.price) AS n, C.price AS last
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B++ C)
        DEFINE A AS A.price > 10, B AS B.price > 12, C AS C.price > 13
    );
-- rows symbol:string,first:int,n:bigint,last:int

-- == differs: an optional row is left out where the match can do without it
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES A.price AS first, COUNT(B.price) AS n, C.price AS last
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B? C)
        DEFINE A AS A.price > 10, B AS B.price > 12, C AS C.price > 13
    );
-- rows symbol:string,first:int,n:bigint,last:int
-- ACME, 12, 1, 19
-- ACME, 13, 1, 20
-- ACME, 21, 1, 14
-- write
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES A.price AS first, COUNT(B.price) AS n, C.price AS last
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B?? C)
        DEFINE A AS A.price > 10, B AS B.price > 12, C AS C.price > 13
    );
-- rows symbol:string,first:int,n:bigint,last:int
-- ACME, 12, 0, 17
-- ACME, 13, 0, 15
-- ACME, 16, 0, 14
-- ACME, 19, 0, 21

-- == a reluctant quantifier
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            C.price AS lastPrice
        ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B*? C)
        DEFINE
            A AS A.price > 10,
            B AS B.price < 20,
            C AS C.price > 12
    );
-- rows symbol:string,lastPrice:int
-- ACME, 14
-- ACME, 15
-- ACME, 17
-- ACME, 21

-- == differs: a greedy loop gives no row back: sums of products in a condition
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            SUM(A.price * A.tax) AS taxed,
            COUNT(A.price) AS n
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A{2,} B)
        DEFINE
            A AS SUM(A.price * A.tax) < 100,
            B AS B.price < 15
    );
-- rows symbol:string,taxed:bigint,n:bigint
-- ACME, 46, 2
-- ACME, 95, 2
-- ACME, 95, 2
-- write
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            SUM(A.price * A.tax) AS taxed,
            COUNT(A.price) AS n
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A{2,}+ B)
        DEFINE
            A AS SUM(A.price * A.tax) < 100,
            B AS B.price < 15
    );
-- rows symbol:string,taxed:bigint,n:bigint
-- ACME, 95, 2
-- ACME, 95, 2

-- == differs: logical offsets
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            FIRST(A.price, 1) AS secondPrice,
            LAST(A.price, 1) AS lastButOne,
            FIRST(A.price * A.tax) AS first_tax
        PATTERN (A{3,} B)
        DEFINE
            A AS LAST(A.price, 1) IS NULL OR A.price > LAST(A.price, 1),
            B AS B.price < LAST(A.price)
    );
-- rows symbol:string,secondPrice:int,lastButOne:int,first_tax:int
-- ACME, 15, 15, 26
-- ACME, 17, 19, 12
-- write
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            FIRST(A.price, 1) AS secondPrice,
            LAST(A.price, 1) AS lastButOne,
            FIRST(A.price * A.tax) AS first_tax
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A{3,}+ B)
        DEFINE
            A AS LAST(A.price, 1) IS NULL OR A.price > LAST(A.price, 1),
            B AS B.price < LAST(A.price)
    );
-- rows symbol:string,secondPrice:int,lastButOne:int,first_tax:int
-- ACME, 15, 15, 26
-- ACME, 17, 19, 12
-- ACME, 19, 19, 34

-- == differs: a greedy loop gives no row back: skipping to the first row of a variable
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            SUM(A.price) AS sumPrice,
            FIRST(rowtime) AS startTime,
            LAST(rowtime) AS endTime
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO FIRST C
        PATTERN (A+ C)
        DEFINE
            A AS SUM(A.price) < 50
    );
-- rows symbol:string,sumPrice:bigint,startTime:timestamp,endTime:timestamp
-- ACME, 20, 2026-06-01 12:00:08, 2026-06-01 12:00:09
-- ACME, 37, 2026-06-01 10:00:03, 2026-06-01 10:00:05
-- ACME, 42, 2026-06-01 10:00:05, 2026-06-01 12:00:08
-- ACME, 48, 2026-06-01 10:00:00, 2026-06-01 10:00:03
-- write
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            SUM(A.price) AS sumPrice,
            FIRST(rowtime) AS startTime,
            LAST(rowtime) AS endTime
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO FIRST C
        PATTERN (A++ C)
        DEFINE
            A AS SUM(A.price) < 50
    );
-- rows symbol:string,sumPrice:bigint,startTime:timestamp,endTime:timestamp
-- ACME, 37, 2026-06-01 10:00:03, 2026-06-01 10:00:05
-- ACME, 42, 2026-06-01 10:00:05, 2026-06-01 12:00:08
-- ACME, 48, 2026-06-01 10:00:00, 2026-06-01 10:00:03

-- == differs: the time of a match
SELECT symbol, start_row, matched_at
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES A.rowtime AS start_row, MATCH_ROWTIME() AS matched_at
        PATTERN (A B)
        DEFINE B AS B.price < A.price
    );
-- rows symbol:string,start_row:timestamp,matched_at:timestamp
-- ACME, 2026-06-01 10:00:03, 2026-06-01 10:00:04
-- ACME, 2026-06-01 10:00:05, 2026-06-01 10:00:06
-- ACME, 2026-06-01 12:00:08, 2026-06-01 12:00:09
-- write
SELECT symbol, start_row, matched_at
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES A.rowtime AS start_row, MATCH_ROWTIME() AS matched_at
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B)
        DEFINE B AS B.price < A.price
    );
-- rows symbol:string,start_row:timestamp,matched_at:timestamp
-- ACME, 2026-06-01 10:00:03, 2026-06-01 10:00:04
-- ACME, 2026-06-01 10:00:04, 2026-06-01 10:00:05
-- ACME, 2026-06-01 10:00:05, 2026-06-01 10:00:06
-- ACME, 2026-06-01 12:00:08, 2026-06-01 12:00:09

-- == MATCH_ROWTIME of a column
SELECT symbol, matched_at
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES MATCH_ROWTIME(rowtime) AS matched_at
        PATTERN (A B)
        DEFINE B AS B.price < A.price
    );
-- error
-- SQLEXT_TOO_MANY_ARGUMENTS: MATCH_ROWTIME takes no argument
--   6 |         MEASURES MATCH_ROWTIME(rowtime) AS matched_at
--     |                  ^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write MATCH_ROWTIME().
-- write
SELECT symbol, matched_at
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES LAST(rowtime) AS matched_at
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B)
        DEFINE B AS B.price < A.price
    );
-- rows symbol:string,matched_at:timestamp
-- ACME, 2026-06-01 10:00:04
-- ACME, 2026-06-01 10:00:05
-- ACME, 2026-06-01 10:00:06
-- ACME, 2026-06-01 12:00:09

-- == differs: casts of columns of two rows
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES A.price AS a_price, B.price AS b_price
        PATTERN (A B)
        DEFINE B AS CAST(B.price AS DOUBLE) / A.price > 1.1
    );
-- rows symbol:string,a_price:int,b_price:int
-- ACME, 12, 17
-- ACME, 13, 15
-- ACME, 19, 21
-- write
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES A.price AS a_price, B.price AS b_price
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B)
        DEFINE B AS CAST(B.price AS DOUBLE) / A.price > 1.1
    );
-- rows symbol:string,a_price:int,b_price:int
-- ACME, 12, 17
-- ACME, 13, 15
-- ACME, 15, 20
-- ACME, 17, 19
-- ACME, 19, 21

-- == TIMESTAMPDIFF in a condition
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES A.rowtime AS a_time, B.rowtime AS b_time
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B)
        DEFINE B AS TIMESTAMPDIFF(SECOND, A.rowtime, B.rowtime) > 60
    );
-- rows symbol:string,a_time:timestamp,b_time:timestamp
-- ACME, 2026-06-01 10:00:07, 2026-06-01 12:00:08

-- == two failed logins within seconds
SELECT *
FROM Logins
    MATCH_RECOGNIZE(
        PARTITION BY userid
        ORDER BY ts
        MEASURES FIRST(F.ts) AS first_fail, LAST(F.ts) AS last_fail
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (F{2}) WITHIN INTERVAL '10' SECOND
        DEFINE F AS F.type = 'fail'
    ) AS T;
-- rows userid:string,first_fail:timestamp,last_fail:timestamp
-- u, 2026-06-01 07:00:00, 2026-06-01 07:00:02

-- == differs: a pattern that ends in an optional row
SELECT *
FROM Logins
    MATCH_RECOGNIZE(
        PARTITION BY userid
        ORDER BY ts
        MEASURES F.type AS first_type, COALESCE(S.type, 'none') AS then_type
        PATTERN (F S?)
        DEFINE F AS F.type = 'fail', S AS S.type = 'ok'
    ) AS T;
-- rows userid:string,first_type:string,then_type:string
-- u, fail, none
-- u, fail, ok
-- v, fail, none
-- v, fail, none
-- write
SELECT *
FROM Logins
    MATCH_RECOGNIZE(
        PARTITION BY userid
        ORDER BY ts
        MEASURES F.type AS first_type, COALESCE(S.type, 'none') AS then_type
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (F S??)
        DEFINE F AS F.type = 'fail', S AS S.type = 'ok'
    ) AS T;
-- rows userid:string,first_type:string,then_type:string
-- u, fail, none
-- u, fail, none
-- v, fail, none
-- v, fail, none

-- == an interval join in WHERE
SELECT o.id, s.id AS shipment
FROM Orders o, Shipments s
WHERE o.id = s.order_id
AND o.order_time BETWEEN s.ship_time - INTERVAL '4' HOUR AND s.ship_time;
-- rows id:int,shipment:int
-- 1, 11
-- 3, 13

-- == a temporal join
SELECT Orders.id, Orders.amount * RatesHistory.rate AS converted
FROM Orders
LEFT JOIN RatesHistory FOR SYSTEM_TIME AS OF Orders.order_time
ON Orders.currency = RatesHistory.currency;
-- error
-- SQLEXT_ANALYSIS: Invalid time travel spec: timestamp expression cannot refer to any columns.
--   3 | LEFT JOIN RatesHistory FOR SYSTEM_TIME AS OF Orders.order_time
--     |                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write FROM orders o LEFT ASOF JOIN rates r MATCH_CONDITION (o.at >= r.valid_from) ON o.currency = r.currency.
-- write
SELECT Orders.id, Orders.amount * RatesHistory.rate AS converted
FROM Orders
LEFT ASOF JOIN RatesHistory MATCH_CONDITION (Orders.order_time >= RatesHistory.update_time)
ON Orders.currency = RatesHistory.currency;
-- rows id:int,converted:int
-- 1, 1140
-- 2, 500
-- 3, 812

-- == a tumbling window
SELECT window_start, window_end, SUM(price) AS total_price
  FROM TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)
  GROUP BY window_start, window_end;
-- rows window_start:timestamp,window_end:timestamp,total_price:bigint
-- 2026-06-01 08:00:00, 2026-06-01 08:10:00, 11
-- 2026-06-01 08:10:00, 2026-06-01 08:20:00, 10

-- == a hopping window
SELECT window_start, window_end, SUM(price) AS total_price
  FROM HOP(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)
  GROUP BY window_start, window_end;
-- rows window_start:timestamp,window_end:timestamp,total_price:bigint
-- 2026-06-01 08:00:00, 2026-06-01 08:10:00, 11
-- 2026-06-01 08:05:00, 2026-06-01 08:15:00, 15
-- 2026-06-01 08:10:00, 2026-06-01 08:20:00, 10
-- 2026-06-01 08:15:00, 2026-06-01 08:25:00, 6

-- == deduplication
SELECT id, name, userid
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY userid ORDER BY proctime DESC) AS rownum
    FROM MyTable)
WHERE rownum = 1;
-- rows id:int,name:string,userid:int
-- 5, c, 8
-- 6, a, 7

-- == an OVER window of a range of time
SELECT symbol, rowtime, price,
       SUM(price) OVER (PARTITION BY symbol ORDER BY rowtime RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW) AS s
FROM Ticker
WHERE price < 16;
-- rows symbol:string,rowtime:timestamp,price:int,s:bigint
-- ACME, 2026-06-01 10:00:00, 12, 12
-- ACME, 2026-06-01 10:00:05, 14, 14
-- ACME, 2026-06-01 10:00:06, 13, 27
-- ACME, 2026-06-01 10:00:07, 15, 42
-- ACME, 2026-06-01 12:00:09, 11, 11

-- == the time of the machine
SELECT userid, matched_at IS NOT NULL AS has_time
FROM Logins
    MATCH_RECOGNIZE(
        PARTITION BY userid
        ORDER BY ts
        MEASURES MATCH_PROCTIME() AS matched_at
        PATTERN (F F)
        DEFINE F AS F.type = 'fail'
    );
-- rows userid:string,has_time:boolean
-- u, true
-- v, true

-- == a rise and then a fall of at least two rows; Flink refuses a greedy loop at the end
SELECT symbol, peak, falls
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES LAST(U.price) AS peak, COUNT(D.price) AS falls
        AFTER MATCH SKIP TO LAST D
        PATTERN (S U+ D{2,})
        DEFINE
            U AS U.price > LAST(price, 1),
            D AS D.price < LAST(price, 1)
    );
-- rows symbol:string,peak:int,falls:bigint
-- ACME, 21, 3

-- == a session window
SELECT item, window_start, window_end FROM SESSION(TABLE Bid PARTITION BY item, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES) GROUP BY item, window_start, window_end;
-- rows item:string,window_start:timestamp,window_end:timestamp
-- A, 2026-06-01 08:07:00, 2026-06-01 08:12:00
-- B, 2026-06-01 08:11:00, 2026-06-01 08:16:00
-- C, 2026-06-01 08:05:00, 2026-06-01 08:10:00
-- D, 2026-06-01 08:09:00, 2026-06-01 08:14:00
-- E, 2026-06-01 08:13:00, 2026-06-01 08:18:00
-- F, 2026-06-01 08:17:00, 2026-06-01 08:22:00

-- == a cumulating window
SELECT window_start, window_end, SUM(price) AS total FROM CUMULATE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES) GROUP BY window_start, window_end;
-- rows window_start:timestamp,window_end:timestamp,total:bigint
-- 2026-06-01 08:00:00, 2026-06-01 08:10:00, 11
-- 2026-06-01 08:10:00, 2026-06-01 08:15:00, 4
-- 2026-06-01 08:10:00, 2026-06-01 08:20:00, 10

-- == grouping sets of a window, where Flink takes GROUPING_ID(item)
SELECT window_start, item, GROUPING(item) AS all_items, SUM(price) AS total FROM TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES) WHERE item < 'C' GROUP BY window_start, window_end, GROUPING SETS ((item), ());
-- rows window_start:timestamp,item:string,all_items:tinyint,total:bigint
-- 2026-06-01 08:00:00, A, 0, 2
-- 2026-06-01 08:00:00, null, 1, 2
-- 2026-06-01 08:10:00, B, 0, 3
-- 2026-06-01 08:10:00, null, 1, 3

-- == TUMBLE and TUMBLE_START of earlier versions
SELECT TUMBLE_START(bidtime, INTERVAL '10' MINUTES) AS s, SUM(price) AS total FROM Bid GROUP BY TUMBLE(bidtime, INTERVAL '10' MINUTES);
-- error
-- SQLEXT_MISPLACED_CLAUSE: TUMBLE is a relation of FROM
--   1 | SELECT TUMBLE_START(bidtime, INTERVAL '10' MINUTES) AS s, SUM(price) AS total FROM Bid GROUP BY TUMBLE(bidtime, INTERVAL '10' MINUTES)
--     |                                                                                                 ^^^^^^
-- Hint: write GROUP BY window_start, window_end after FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES).
-- write
SELECT window_start AS s, SUM(price) AS total FROM TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES) GROUP BY window_start, window_end;
-- rows s:timestamp,total:bigint
-- 2026-06-01 08:00:00, 11
-- 2026-06-01 08:10:00, 10

-- == TO_TIMESTAMP_LTZ
SELECT TO_TIMESTAMP_LTZ(1780000000000, 3) AS t;
-- error
-- SQLEXT_WRONG_ARGUMENTS: TO_TIMESTAMP_LTZ has other arguments in Spark
--   1 | SELECT TO_TIMESTAMP_LTZ(1780000000000, 3) AS t
--     |        ^^^^^^^^^^^^^^^^
-- Hint: write timestamp_millis(n) or timestamp_seconds(n).
-- write
SELECT timestamp_millis(1780000000000) AS t;
-- rows t:timestamp
-- 2026-05-28 20:26:40

-- == FLOOR of a time
SELECT FLOOR(bidtime TO HOUR) AS hour, COUNT(*) AS n FROM Bid GROUP BY FLOOR(bidtime TO HOUR);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'TO'.
--   1 | SELECT FLOOR(bidtime TO HOUR) AS hour, COUNT(*) AS n FROM Bid GROUP BY FLOOR(bidtime TO HOUR)
--     |                      ^^
-- Hint: write date_trunc('HOUR', ts).
-- write
SELECT date_trunc('HOUR', bidtime) AS hour, COUNT(*) AS n FROM Bid GROUP BY hour;
-- rows hour:timestamp,n:bigint
-- 2026-06-01 08:00:00, 6

-- == the largest two of each
SELECT item, price FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY price DESC) AS rn FROM Bid) WHERE rn <= 2;
-- rows item:string,price:int
-- D, 5
-- F, 6

-- == WATERMARK FOR in a table
CREATE TABLE bids (price INT, bidtime TIMESTAMP(3), WATERMARK FOR bidtime AS bidtime - INTERVAL '5' SECOND) WITH ('connector' = 'kafka');
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'bidtime'.
--   1 | CREATE TABLE bids (price INT, bidtime TIMESTAMP(3), WATERMARK FOR bidtime AS bidtime - INTERVAL '5' SECOND) WITH ('connector' = 'kafka')
--     |                                                                   ^^^^^^^
-- Hint: register the topic by spark.readStream, and write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 5 SECONDS.
-- write
SELECT count(*) AS n FROM Bid WATERMARK bidtime DELAY OF INTERVAL 5 SECONDS;
-- rows n:bigint
-- 6

-- == a temporal table function
SELECT o.id, o.amount * r.rate AS amount
FROM Orders AS o, LATERAL TABLE (Rates(o.order_time)) AS r
WHERE r.currency = o.currency;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function Rates
--   2 | FROM Orders AS o, LATERAL TABLE (Rates(o.order_time)) AS r
--     |                                  ^^^^^^^^^^^^^^^^^^^
-- Hint: write FROM orders o ASOF JOIN rates r MATCH_CONDITION (o.at >= r.valid_from) ON o.currency = r.currency.
-- write
SELECT o.id, o.amount * r.rate AS amount
FROM Orders AS o ASOF JOIN RatesHistory AS r MATCH_CONDITION (o.order_time >= r.update_time) ON r.currency = o.currency;
-- rows id:int,amount:int
-- 1, 1140
-- 2, 500
-- 3, 812

-- == early results of a window, as in Blink
SELECT item, SUM(price) AS total FROM TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)
GROUP BY item, window_start, window_end EMIT WITH DELAY '1' MINUTE BEFORE WATERMARK;
-- error
-- SQLEXT_EMIT_SYNTAX: there is no EMIT WITH
--   2 | GROUP BY item, window_start, window_end EMIT WITH DELAY '1' MINUTE BEFORE WATERMARK
--     |                                         ^^^^^^^^^
-- Hint: write EMIT AFTER DELAY INTERVAL 10 SECONDS, and ALLOW LATENESS INTERVAL 10 SECONDS for late rows.
-- write
SELECT item, SUM(price) AS total FROM TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)
GROUP BY item, window_start, window_end EMIT AFTER DELAY INTERVAL '1' MINUTE;
-- rows item:string,total:bigint
-- A, 2
-- B, 3
-- C, 4
-- D, 5
-- E, 1
-- F, 6

-- == differs: aggregates of a group
SELECT AVG(x) AS mean, ARRAY_AGG(x) AS list FROM VALUES (1), (CAST(NULL AS INT)), (4) AS t(x);
-- rows mean:double,list:array<int>
-- 2.5, [1, 4]
-- write
SELECT CAST(AVG(x) AS INT) AS mean, transform(array_agg(struct(x)), r -> r.x) AS list FROM VALUES (1), (CAST(NULL AS INT)), (4) AS t(x);
-- rows mean:int,list:array<int>
-- 2, [1, null, 4]

-- == differs: a column that is NOT NULL in Flink, of a row that does not exist
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES LAST(A.price, 1) AS earlier
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B)
        DEFINE B AS B.price < A.price
    );
-- rows symbol:string,earlier:int
-- ACME, null
-- ACME, null
-- ACME, null
-- write
SELECT *
FROM Ticker
    MATCH_RECOGNIZE(
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES coalesce(LAST(A.price, 1), -1) AS earlier
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B)
        DEFINE B AS B.price < A.price
    );
-- rows symbol:string,earlier:int
-- ACME, -1
-- ACME, -1
-- ACME, -1
