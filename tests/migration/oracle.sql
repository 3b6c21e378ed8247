-- What users of Oracle write: SQL for Pattern Matching, and tutorials about it. The data and the words are ours.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW ticker AS
SELECT symbol, DATE '2026-04-01' + day AS tstamp, price
FROM VALUES ('ACME', array(20, 16, 13, 17, 22, 18, 18, 14, 19, 21)), ('GLOBEX', array(50, 52, 55, 51, 48, 49, 53, 47, 44, 60))
  AS series(symbol, prices) LATERAL VIEW posexplode(prices) AS day, price;
CREATE OR REPLACE TEMPORARY VIEW clicks AS
SELECT * FROM VALUES (1, 'mary'), (4, 'sam'), (11, 'mary'), (12, 'mary'), (13, 'sam'), (23, 'sam'), (32, 'mary'), (34, 'sam'), (36, 'mary')
  AS clicks(tstamp, user_id);
CREATE OR REPLACE TEMPORARY VIEW calls AS
SELECT * FROM VALUES (1, 'ann', 'bob', 0, 100), (2, 'ann', 'bob', 130, 190), (3, 'ann', 'cyd', 200, 260), (4, 'ann', 'bob', 230, 300),
  (5, 'ann', 'bob', 500, 560), (6, 'dan', 'bob', 50, 80), (7, 'dan', 'bob', 90, 120)
  AS calls(id, caller, callee, start_time, end_time);
CREATE OR REPLACE TEMPORARY VIEW event_log AS
SELECT * FROM VALUES (1, 'jo', 'deposit', 1000000), (2, 'jo', 'transfer', 1000), (5, 'jo', 'transfer', 1500), (20, 'jo', 'transfer', 1200),
  (25, 'jo', 'transfer', 1200000), (60, 'jo', 'transfer', 1000), (27, 'kim', 'transfer', 900), (40, 'kim', 'transfer', 1700),
  (70, 'kim', 'transfer', 1900), (72, 'kim', 'transfer', 1000000)
  AS event_log(time, userid, event, amount);
CREATE OR REPLACE TEMPORARY VIEW auth_log AS
SELECT * FROM VALUES (1, 2, 'disk'), (2, 2, 'disk'), (3, 2, 'disk'), (4, 3, 'net'), (5, 2, 'disk'), (6, 3, 'net'), (7, 3, 'net'), (8, 3, 'net'),
  (9, 3, 'net') AS auth_log(tstamp, errno, module);
CREATE OR REPLACE TEMPORARY VIEW sites AS
SELECT * FROM VALUES (1, 30), (2, 25), (3, 20), (4, 60), (5, 5), (6, 40), (7, 41), (8, 10) AS sites(site, weight);
CREATE OR REPLACE TEMPORARY VIEW bookings AS
SELECT * FROM VALUES (DATE '2026-01-01', DATE '2026-01-05'), (DATE '2026-01-03', DATE '2026-01-10'), (DATE '2026-01-10', DATE '2026-01-12'),
  (DATE '2026-02-01', DATE '2026-02-03'), (DATE '2026-02-02', DATE '2026-02-02'), (DATE '2026-03-01', DATE '2026-03-02')
  AS bookings(start_date, end_date);

-- == V shapes, one row for each
SELECT *
FROM Ticker MATCH_RECOGNIZE (
     PARTITION BY symbol
     ORDER BY tstamp
     MEASURES  STRT.tstamp AS start_tstamp,
               LAST(DOWN.tstamp) AS bottom_tstamp,
               LAST(UP.tstamp) AS end_tstamp
     ONE ROW PER MATCH
     AFTER MATCH SKIP TO LAST UP
     PATTERN (STRT DOWN+ UP+)
     DEFINE
        DOWN AS DOWN.price < PREV(DOWN.price),
        UP AS UP.price > PREV(UP.price)
     ) MR
ORDER BY MR.symbol, MR.start_tstamp;
-- rows symbol:string,start_tstamp:date,bottom_tstamp:date,end_tstamp:date
-- ACME, 2026-04-01, 2026-04-03, 2026-04-05
-- ACME, 2026-04-07, 2026-04-08, 2026-04-10
-- GLOBEX, 2026-04-03, 2026-04-05, 2026-04-07
-- GLOBEX, 2026-04-07, 2026-04-09, 2026-04-10

-- == V shapes, all rows
SELECT *
FROM Ticker MATCH_RECOGNIZE (
     PARTITION BY symbol
     ORDER BY tstamp
     MEASURES  STRT.tstamp AS start_tstamp,
               FINAL LAST(DOWN.tstamp) AS bottom_tstamp,
               FINAL LAST(UP.tstamp) AS end_tstamp,
               MATCH_NUMBER() AS match_num,
               CLASSIFIER() AS var_match
     ALL ROWS PER MATCH
     AFTER MATCH SKIP TO LAST UP
     PATTERN (STRT DOWN+ UP+)
     DEFINE
        DOWN AS DOWN.price < PREV(DOWN.price),
        UP AS UP.price > PREV(UP.price)
     ) MR
WHERE symbol = 'ACME'
ORDER BY MR.symbol, MR.match_num, MR.tstamp;
-- rows symbol:string,tstamp:date,start_tstamp:date,bottom_tstamp:date,end_tstamp:date,match_num:bigint,var_match:string,price:int
-- ACME, 2026-04-01, 2026-04-01, 2026-04-03, 2026-04-05, 1, STRT, 20
-- ACME, 2026-04-02, 2026-04-01, 2026-04-03, 2026-04-05, 1, DOWN, 16
-- ACME, 2026-04-03, 2026-04-01, 2026-04-03, 2026-04-05, 1, DOWN, 13
-- ACME, 2026-04-04, 2026-04-01, 2026-04-03, 2026-04-05, 1, UP, 17
-- ACME, 2026-04-05, 2026-04-01, 2026-04-03, 2026-04-05, 1, UP, 22
-- ACME, 2026-04-07, 2026-04-07, 2026-04-08, 2026-04-10, 2, STRT, 18
-- ACME, 2026-04-08, 2026-04-07, 2026-04-08, 2026-04-10, 2, DOWN, 14
-- ACME, 2026-04-09, 2026-04-07, 2026-04-08, 2026-04-10, 2, UP, 19
-- ACME, 2026-04-10, 2026-04-07, 2026-04-08, 2026-04-10, 2, UP, 21

-- == aggregates over a variable, running and final
SELECT symbol, tstamp, match_num, var_match, up_days, total_days, cnt_days, price_dif, price
FROM Ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY tstamp
  MEASURES
    MATCH_NUMBER() AS match_num,
    CLASSIFIER() AS var_match,
    FINAL COUNT(UP.tstamp) AS up_days,
    FINAL COUNT(tstamp) AS total_days,
    RUNNING COUNT(tstamp) AS cnt_days,
    price - STRT.price AS price_dif
  ALL ROWS PER MATCH
  AFTER MATCH SKIP TO LAST UP
  PATTERN (STRT DOWN+ UP+)
  DEFINE
    DOWN AS DOWN.price < PREV(DOWN.price),
    UP AS UP.price > PREV(UP.price)
  ) MR
WHERE symbol = 'GLOBEX'
ORDER BY MR.symbol, MR.match_num, MR.tstamp;
-- rows symbol:string,tstamp:date,match_num:bigint,var_match:string,up_days:bigint,total_days:bigint,cnt_days:bigint,price_dif:int,price:int
-- GLOBEX, 2026-04-03, 1, STRT, 2, 5, 1, 0, 55
-- GLOBEX, 2026-04-04, 1, DOWN, 2, 5, 2, -4, 51
-- GLOBEX, 2026-04-05, 1, DOWN, 2, 5, 3, -7, 48
-- GLOBEX, 2026-04-06, 1, UP, 2, 5, 4, -6, 49
-- GLOBEX, 2026-04-07, 1, UP, 2, 5, 5, -2, 53
-- GLOBEX, 2026-04-07, 2, STRT, 1, 4, 1, 0, 53
-- GLOBEX, 2026-04-08, 2, DOWN, 1, 4, 2, -6, 47
-- GLOBEX, 2026-04-09, 2, DOWN, 1, 4, 3, -9, 44
-- GLOBEX, 2026-04-10, 2, UP, 1, 4, 4, 7, 60

-- == W shapes
SELECT *
FROM Ticker MATCH_RECOGNIZE (
     PARTITION BY symbol
     ORDER BY tstamp
     MEASURES STRT.tstamp AS start_tstamp,
              UP.tstamp   AS end_tstamp
     ONE ROW PER MATCH
     AFTER MATCH SKIP TO LAST UP
     PATTERN (STRT DOWN+ UP+ DOWN+ UP+)
     DEFINE
       DOWN AS DOWN.price < PREV(DOWN.price),
       UP AS UP.price > PREV(UP.price)
     ) MR
ORDER BY MR.symbol, MR.start_tstamp;
-- rows symbol:string,start_tstamp:date,end_tstamp:date
-- GLOBEX, 2026-04-03, 2026-04-10

-- == a union of variables
SELECT symbol, first_stdn, avg_stdn, avg_price
FROM Ticker MATCH_RECOGNIZE (
     PARTITION BY symbol
     ORDER BY tstamp
     MEASURES FIRST(STDN.tstamp) AS first_stdn,
              ROUND(AVG(STDN.price), 2) AS avg_stdn,
              ROUND(AVG(price), 2) AS avg_price
     ONE ROW PER MATCH
     AFTER MATCH SKIP TO LAST UP
     PATTERN (STRT DOWN+ UP+)
     SUBSET STDN = (STRT, DOWN)
     DEFINE
        DOWN AS DOWN.price < PREV(DOWN.price),
        UP AS UP.price > PREV(UP.price)
     );
-- rows symbol:string,first_stdn:date,avg_stdn:double,avg_price:double
-- ACME, 2026-04-01, 16.33, 17.6
-- ACME, 2026-04-07, 16.0, 18.0
-- GLOBEX, 2026-04-03, 51.33, 51.2
-- GLOBEX, 2026-04-07, 48.0, 51.0

-- == a drop of more than eight percent
SELECT MR_ORCL.symbol, MR_ORCL.timestamp, MR_ORCL.Aprice, MR_ORCL.Bprice, MR_ORCL.PctDrop
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY tstamp
  MEASURES B.tstamp AS timestamp, A.price AS Aprice, B.price AS Bprice,
           ((B.price - A.price) * 100) / A.price AS PctDrop
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO B
  PATTERN (A B)
  DEFINE B AS (B.price - A.price) / A.price < -0.08
) MR_ORCL;
-- rows symbol:string,timestamp:date,Aprice:int,Bprice:int,PctDrop:double
-- ACME, 2026-04-02, 20, 16, -20.0
-- ACME, 2026-04-03, 16, 13, -18.75
-- ACME, 2026-04-06, 22, 18, -18.181818181818183
-- ACME, 2026-04-08, 18, 14, -22.22222222222222
-- GLOBEX, 2026-04-08, 53, 47, -11.320754716981131

-- == a dip of eight percent that has returned to the original price
SELECT *
FROM Ticker MATCH_RECOGNIZE (
     PARTITION BY symbol
     ORDER BY tstamp
     MEASURES  A.tstamp          AS start_timestamp,
               A.price           AS start_price,
               B.price           AS drop_price,
               COUNT(C.*) + 1    AS cnt_days,
               D.tstamp          AS end_timestamp,
               D.price           AS end_price
     ONE ROW PER MATCH
     AFTER MATCH SKIP PAST LAST ROW
     PATTERN (A B C* D)
     DEFINE
          B AS (B.price < 0.92 * PREV(B.price)),
          C AS (C.price < A.price),
          D AS (D.price >= A.price)
     ) MR
ORDER BY MR.symbol, MR.start_timestamp;
-- rows symbol:string,start_timestamp:date,start_price:int,drop_price:int,cnt_days:bigint,end_timestamp:date,end_price:int
-- ACME, 2026-04-01, 20, 16, 3, 2026-04-05, 22
-- ACME, 2026-04-07, 18, 14, 1, 2026-04-09, 19
-- GLOBEX, 2026-04-07, 53, 47, 2, 2026-04-10, 60

-- == V and U shapes
SELECT symbol, start_tstamp, flat_days, end_tstamp
FROM Ticker MATCH_RECOGNIZE (
     PARTITION BY symbol
     ORDER BY tstamp
     MEASURES  STRT.tstamp AS start_tstamp,
               COUNT(FLAT.*) AS flat_days,
               LAST(UP.tstamp) AS end_tstamp
     ONE ROW PER MATCH
     AFTER MATCH SKIP TO LAST UP
     PATTERN (STRT DOWN+ FLAT* DOWN* UP+)
     DEFINE
          DOWN AS price < PREV(price),
          FLAT AS price = PREV(price),
          UP AS price > PREV(price)
     ) MR;
-- rows symbol:string,start_tstamp:date,flat_days:bigint,end_tstamp:date
-- ACME, 2026-04-01, 0, 2026-04-05
-- ACME, 2026-04-05, 1, 2026-04-10
-- GLOBEX, 2026-04-03, 0, 2026-04-07
-- GLOBEX, 2026-04-07, 0, 2026-04-10

-- == rows between
SELECT symbol, tstamp, price
FROM Ticker MATCH_RECOGNIZE (
     PARTITION BY symbol ORDER BY tstamp
     ALL ROWS PER MATCH
     AFTER MATCH SKIP TO LAST UP
     PATTERN (STRT {- DOWN+ -} UP+)
     DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
     )
WHERE symbol = 'ACME';
-- rows symbol:string,tstamp:date,price:int
-- ACME, 2026-04-01, 20
-- ACME, 2026-04-04, 17
-- ACME, 2026-04-05, 22
-- ACME, 2026-04-07, 18
-- ACME, 2026-04-09, 19
-- ACME, 2026-04-10, 21

-- == sessions of clicks
SELECT tstamp, user_id, session_id
FROM clicks MATCH_RECOGNIZE (
     PARTITION BY user_id
     ORDER BY tstamp
     MEASURES match_number() AS session_id
     ALL ROWS PER MATCH
     PATTERN (b s*)
     DEFINE s AS (s.tstamp - PREV(tstamp) <= 10)
     )
ORDER BY user_id, tstamp;
-- rows tstamp:int,user_id:string,session_id:bigint
-- 1, mary, 1
-- 11, mary, 1
-- 12, mary, 1
-- 13, sam, 1
-- 23, sam, 1
-- 32, mary, 2
-- 34, sam, 2
-- 36, mary, 2
-- 4, sam, 1

-- == sessions with their length
SELECT session_id, user_id, start_tstamp, no_of_events, duration
FROM clicks MATCH_RECOGNIZE (
     PARTITION BY user_id
     ORDER BY tstamp
     MEASURES  match_number() session_id,
               COUNT(*) AS no_of_events,
               FIRST(b.tstamp) AS start_tstamp,
               LAST(s.tstamp) - FIRST(b.tstamp) AS duration
     ONE ROW PER MATCH
     PATTERN (b s+)
     DEFINE s AS (s.tstamp - PREV(tstamp) <= 10)
     )
ORDER BY user_id, session_id;
-- rows session_id:bigint,user_id:string,start_tstamp:int,no_of_events:bigint,duration:int
-- 1, mary, 1, 3, 11
-- 1, sam, 4, 3, 19
-- 2, mary, 32, 2, 4

-- == dropped calls
SELECT caller, callee, first_start, effective_duration, restarts
FROM calls MATCH_RECOGNIZE (
     PARTITION BY caller, callee
     ORDER BY start_time
     MEASURES A.start_time AS first_start,
              SUM(end_time - start_time) AS effective_duration,
              COUNT(B.*) AS restarts
     ONE ROW PER MATCH
     PATTERN (A B*)
     DEFINE B AS B.start_time - PREV(B.end_time) < 60
     ) call_sets
ORDER BY caller, callee, first_start;
-- rows caller:string,callee:string,first_start:int,effective_duration:bigint,restarts:bigint
-- ann, bob, 0, 230, 2
-- ann, bob, 500, 60, 0
-- ann, cyd, 200, 60, 0
-- dan, bob, 50, 60, 1

-- == suspicious transfers
SELECT userid, first_t, last_t, amount
FROM (SELECT * FROM event_log WHERE event = 'transfer')
MATCH_RECOGNIZE (
     PARTITION BY userid
     ORDER BY time
     MEASURES FIRST(x.time) first_t, y.time last_t, y.amount amount
     ONE ROW PER MATCH
     PATTERN (x{3,} y)
     DEFINE x AS (amount < 2000),
            y AS (amount >= 1000000 AND LAST(x.time) - FIRST(x.time) < 30 AND y.time - LAST(x.time) < 10)
     );
-- rows userid:string,first_t:int,last_t:int,amount:int
-- jo, 2, 25, 1200000

-- == suspicious transfers in sum
SELECT userid, first_t, last_t, small_sum
FROM (SELECT * FROM event_log WHERE event = 'transfer')
MATCH_RECOGNIZE (
     PARTITION BY userid
     ORDER BY time
     MEASURES FIRST(time) AS first_t, LAST(time) AS last_t, SUM(x.amount) AS small_sum
     ONE ROW PER MATCH
     PATTERN (x{2,} y)
     DEFINE x AS (amount < 2000),
            y AS (amount >= 1000000 AND SUM(x.amount) < 3800)
     );
-- rows userid:string,first_t:int,last_t:int,small_sum:bigint
-- jo, 2, 25, 3700
-- kim, 40, 72, 3600

-- == three or more of the same error in a row
SELECT MR_EL.errno, MR_EL.first_t, MR_EL.last_t, MR_EL.cnt
FROM auth_log MATCH_RECOGNIZE (
     ORDER BY tstamp
     MEASURES S.errno AS errno, S.module AS module, COUNT(*) AS cnt, FIRST(S.tstamp) AS first_t, LAST(F.tstamp) AS last_t
     ONE ROW PER MATCH
     AFTER MATCH SKIP TO LAST F
     PATTERN (S F{2,})
     DEFINE F AS F.errno = PREV(F.errno)
     ) MR_EL
ORDER BY MR_EL.first_t;
-- rows errno:int,first_t:int,last_t:int,cnt:bigint
-- 2, 1, 3, 3
-- 3, 6, 9, 4

-- == groups of consecutive values
SELECT *
FROM (SELECT explode(array(1, 2, 3, 5, 6, 9, 11, 12)) AS n)
MATCH_RECOGNIZE (
  ORDER BY n
  MEASURES FIRST(n) AS firstn, LAST(n) AS lastn
  PATTERN (A B*)
  DEFINE B AS n = PREV(n) + 1
);
-- rows firstn:int,lastn:int
-- 1, 3
-- 11, 12
-- 5, 6
-- 9, 9

-- == bins of a fixed size
SELECT *
FROM sites MATCH_RECOGNIZE (
  ORDER BY site
  MEASURES FIRST(site) first_site, LAST(site) last_site, SUM(weight) sum_weight
  PATTERN (A+)
  DEFINE A AS SUM(weight) <= 100
);
-- rows first_site:int,last_site:int,sum_weight:bigint
-- 1, 3, 75
-- 4, 5, 65
-- 6, 8, 91

-- == merged date ranges
SELECT *
FROM bookings MATCH_RECOGNIZE (
  ORDER BY start_date, end_date
  MEASURES FIRST(start_date) AS start_date, MAX(end_date) AS end_date
  PATTERN (A* B)
  DEFINE A AS MAX(end_date) >= NEXT(start_date)
);
-- rows start_date:date,end_date:date
-- 2026-01-01, 2026-01-12
-- 2026-02-01, 2026-02-03
-- 2026-03-01, 2026-03-02

-- == empty matches are rows of their own
SELECT symbol, mn, cnt
FROM (SELECT * FROM ticker WHERE symbol = 'ACME') MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES match_number() AS mn, COUNT(*) AS cnt
  ONE ROW PER MATCH
  PATTERN (UP*)
  DEFINE UP AS price > PREV(price)
);
-- rows symbol:string,mn:bigint,cnt:bigint
-- ACME, 1, 0
-- ACME, 2, 0
-- ACME, 3, 0
-- ACME, 4, 2
-- ACME, 5, 0
-- ACME, 6, 0
-- ACME, 7, 0
-- ACME, 8, 2

-- == unmatched rows too
SELECT tstamp, cls, mn
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES CLASSIFIER() AS cls, MATCH_NUMBER() AS mn
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  PATTERN (STRT UP{2,})
  DEFINE UP AS UP.price > PREV(UP.price)
)
WHERE symbol = 'ACME';
-- rows tstamp:date,cls:string,mn:bigint
-- 2026-04-01, null, null
-- 2026-04-02, null, null
-- 2026-04-03, STRT, 1
-- 2026-04-04, UP, 1
-- 2026-04-05, UP, 1
-- 2026-04-06, null, null
-- 2026-04-07, null, null
-- 2026-04-08, STRT, 2
-- 2026-04-09, UP, 2
-- 2026-04-10, UP, 2

-- == in any order
SELECT *
FROM auth_log MATCH_RECOGNIZE (
  ORDER BY tstamp
  MEASURES FIRST(tstamp) AS from_t, LAST(tstamp) AS to_t, CLASSIFIER() AS last_var
  PATTERN (PERMUTE(D, N, N2))
  DEFINE D AS module = 'disk', N AS module = 'net', N2 AS errno > 2
);
-- rows from_t:int,to_t:int,last_var:string
-- 4, 6, N2

-- == nested navigation
SELECT *
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES FIRST(DOWN.price, 1) AS second_down, PREV(FIRST(DOWN.price)) AS before_down, NEXT(LAST(UP.price)) AS after_up
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
);
-- rows symbol:string,second_down:int,before_down:int,after_up:int
-- ACME, 13, 20, 18
-- ACME, null, 18, null
-- GLOBEX, 44, 53, null
-- GLOBEX, 48, 55, 47

-- == days between two rows of a match
SELECT symbol, days_between
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES LAST(UP.tstamp) - STRT.tstamp AS days_between
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price) AND UP.tstamp - STRT.tstamp <= 4
);
-- error
-- SQLEXT_DATATYPE_MISMATCH_BINARY_OP_DIFF_TYPES: Cannot resolve "((tstamp - tstamp) <= 4)" due to data type mismatch: the left and right operands of the binary operator have incompatible types ("INTERVAL DAY" and "INT").
--   6 |   DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price) AND UP.tstamp - STRT.tstamp <= 4
--     |                                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: the difference of two dates is an interval: write datediff(a, b) < 6, or < INTERVAL 6 DAYS.
-- write
SELECT symbol, days_between
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES datediff(LAST(UP.tstamp), STRT.tstamp) AS days_between
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price) AND datediff(UP.tstamp, STRT.tstamp) <= 4
);
-- rows symbol:string,days_between:int
-- ACME, 3
-- ACME, 4
-- GLOBEX, 2
-- GLOBEX, 4

-- == functions of Oracle around measures
SELECT symbol, start_day, swing
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES TO_CHAR(FIRST(tstamp), 'yyyy-MM-dd') AS start_day, NVL(MAX(UP.price), 0) - NVL(MIN(DOWN.price), 0) AS swing
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
);
-- rows symbol:string,start_day:string,swing:int
-- ACME, 2026-04-01, 9
-- ACME, 2026-04-07, 7
-- GLOBEX, 2026-04-03, 5
-- GLOBEX, 2026-04-08, 16

-- == names in double quotes
SELECT "Symbol", mno AS "Match"
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES MATCH_NUMBER() AS mno, symbol AS "Symbol2"
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '"Match"'.
--   1 | SELECT "Symbol", mno AS "Match"
--     |                         ^^^^^^^
-- Hint: Spark reads "…" as a string: write the name in backticks, or SET spark.sql.ansi.doubleQuotedIdentifiers = true.
-- write
SELECT symbol AS `Symbol`, mno AS `Match`
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES MATCH_NUMBER() AS mno, symbol AS `Symbol2`
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
);
-- rows Symbol:string,Match:bigint
-- ACME, 1
-- ACME, 2
-- GLOBEX, 1
-- GLOBEX, 2

-- == the first rows
SELECT * FROM (SELECT symbol, price FROM ticker) FETCH FIRST 2 ROWS ONLY;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'FIRST'.
--   1 | SELECT * FROM (SELECT symbol, price FROM ticker) FETCH FIRST 2 ROWS ONLY
--     |                                                        ^^^^^
-- Hint: write LIMIT n.
-- write
SELECT * FROM (SELECT symbol, price FROM ticker WHERE symbol = 'ACME' AND price = 18) LIMIT 2;
-- rows symbol:string,price:int
-- ACME, 18
-- ACME, 18

-- == ROWNUM
SELECT symbol, first_day
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES FIRST(tstamp) AS first_day
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
)
WHERE ROWNUM <= 1;
-- error
-- SQLEXT_UNRESOLVED_COLUMN_WITH_SUGGESTION: A column, variable, or function parameter with name `ROWNUM` cannot be resolved. Did you mean one of the following? [`symbol`, `first_day`].
--   8 | WHERE ROWNUM <= 1
--     |       ^^^^^^
-- Hint: write LIMIT n, or QUALIFY row_number() OVER (ORDER BY …) <= n.
-- write
SELECT symbol, first_day
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES FIRST(tstamp) AS first_day
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
)
ORDER BY symbol, first_day LIMIT 1;
-- rows symbol:string,first_day:date
-- ACME, 2026-04-01

-- == DECODE and NVL2 of measures
SELECT symbol, tstamp, direction, step
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES DECODE(CLASSIFIER(), 'UP', 1, 'DOWN', -1, 0) AS direction, NVL2(PREV(price), price - PREV(price), 0) AS step
  ALL ROWS PER MATCH
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
)
WHERE symbol = 'ACME' AND tstamp < DATE '2026-04-04';
-- rows symbol:string,tstamp:date,direction:int,step:int
-- ACME, 2026-04-01, 0, 0
-- ACME, 2026-04-02, -1, -4
-- ACME, 2026-04-03, -1, -3

-- == a difference of dates in minutes
SELECT *
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES LAST(UP.price) AS top
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price) AND (UP.tstamp - STRT.tstamp) * 24 * 60 <= 5000
);
-- error
-- SQLEXT_DATATYPE_MISMATCH_BINARY_OP_DIFF_TYPES: Cannot resolve "((((tstamp - tstamp) * 24) * 60) <= 5000)" due to data type mismatch: the left and right operands of the binary operator have incompatible types ("INTERVAL DAY TO SECOND" and "INT").
--   6 |   DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price) AND (UP.tstamp - STRT.tstamp) * 24 * 60 <= 5000
--     |                                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: the difference of two times is an interval: write < INTERVAL 10 MINUTES, or timestampdiff(HOUR, a, b) < 9.
-- write
SELECT *
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES LAST(UP.price) AS top
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price) AND datediff(UP.tstamp, STRT.tstamp) * 24 * 60 <= 5000
);
-- rows symbol:string,top:int
-- ACME, 17
-- ACME, 21
-- GLOBEX, 49
-- GLOBEX, 60

-- == the date of today
SELECT SYSDATE FROM DUAL;
-- error
-- SQLEXT_TABLE_OR_VIEW_NOT_FOUND: The table or view `DUAL` cannot be found. Verify the spelling and correctness of the schema and catalog.
--   1 | SELECT SYSDATE FROM DUAL
--     |                     ^^^^
-- Hint: leave FROM DUAL out: SELECT current_timestamp().
-- write
SELECT TIMESTAMP '2026-04-01 00:00:00' < current_timestamp() OR true AS is_later;
-- rows is_later:boolean
-- true

-- == an outer join by (+)
SELECT s.site, c.user_id FROM sites s, clicks c WHERE s.site = c.tstamp(+);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near ')'.
--   1 | SELECT s.site, c.user_id FROM sites s, clicks c WHERE s.site = c.tstamp(+)
--     |                                                                          ^
-- Hint: write FROM a LEFT JOIN b ON a.k = b.k.
-- write
SELECT s.site, c.user_id FROM sites s LEFT JOIN clicks c ON s.site = c.tstamp WHERE s.site <= 4;
-- rows site:int,user_id:string
-- 1, mary
-- 2, null
-- 3, null
-- 4, sam

-- == the difference of two queries
SELECT site FROM sites WHERE weight > 30 MINUS SELECT site FROM sites WHERE weight > 40;
-- rows site:int
-- 6

-- == TRUNC of a date
SELECT DISTINCT TRUNC(tstamp) AS day FROM ticker WHERE price = 13;
-- error
-- SQLEXT_WRONG_NUM_ARGS_WITHOUT_SUGGESTION: The `trunc` requires 2 parameters but the actual number is 1. Please, refer to 'https://spark.apache.org/docs/latest/sql-ref-functions.html' for a fix.
--   1 | SELECT DISTINCT TRUNC(tstamp) AS day FROM ticker WHERE price = 13
--     |                 ^^^^^^^^^^^^^
-- Hint: write trunc(day, 'MONTH') or date_trunc('DAY', ts) for a time, and CAST(x AS BIGINT) for a number.
-- write
SELECT DISTINCT CAST(tstamp AS DATE) AS day FROM ticker WHERE price = 13;
-- rows day:date
-- 2026-04-03

-- == days subtracted from a time
SELECT * FROM (SELECT symbol, CAST(tstamp AS TIMESTAMP) AS at, price FROM ticker) MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY at MEASURES A.at AS first_at, COUNT(*) AS n
  PATTERN (A B+) DEFINE B AS B.at - 3 < A.at AND B.price < A.price
);
-- error
-- SQLEXT_DATATYPE_MISMATCH_UNEXPECTED_INPUT_TYPE: Cannot resolve "(at - 3)" due to data type mismatch: The second parameter requires the "(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)" type, however "3" has the type "INT".
--   3 |   PATTERN (A B+) DEFINE B AS B.at - 3 < A.at AND B.price < A.price
--     |                                ^^^^^^
-- Hint: a number is no length of time: write ts + INTERVAL '5' DAY, ts + INTERVAL '1' HOUR for ts + 1/24, or ts + make_dt_interval(n) for n days.
-- write
SELECT * FROM (SELECT symbol, CAST(tstamp AS TIMESTAMP) AS at, price FROM ticker) MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY at MEASURES A.at AS first_at, COUNT(*) AS n
  PATTERN (A B+) DEFINE B AS B.at - INTERVAL '3' DAY < A.at AND B.price < A.price
);
-- rows symbol:string,first_at:timestamp,n:bigint
-- ACME, 2026-04-01 00:00:00, 3
-- ACME, 2026-04-05 00:00:00, 3
-- GLOBEX, 2026-04-03 00:00:00, 3
-- GLOBEX, 2026-04-07 00:00:00, 3
