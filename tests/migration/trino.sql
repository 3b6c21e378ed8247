-- What users of Trino write: its documentation of row pattern recognition, its tests and its blog.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW orders AS
SELECT * FROM VALUES ('cust_1', DATE '2026-05-11', 100), ('cust_1', DATE '2026-05-12', 200), ('cust_2', DATE '2026-05-13', 8),
  ('cust_1', DATE '2026-05-14', 100), ('cust_2', DATE '2026-05-15', 4), ('cust_1', DATE '2026-05-16', 50),
  ('cust_1', DATE '2026-05-17', 100), ('cust_2', DATE '2026-05-18', 6), ('cust_2', DATE '2026-05-19', 9)
  AS orders(customer_id, order_date, price);

-- == V shapes
SELECT m.customer_id, m.starting_price, m.bottom_price, m.final_price, m.start_date, m.final_date
FROM orders
    MATCH_RECOGNIZE (
        PARTITION BY customer_id
        ORDER BY order_date
        MEASURES
            START.price AS starting_price,
            LAST(DOWN.price) AS bottom_price,
            LAST(UP.price) AS final_price,
            START.order_date AS start_date,
            LAST(UP.order_date) AS final_date
        ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (START DOWN+ UP+)
        DEFINE
            DOWN AS price < PREV(price),
            UP AS price > PREV(price)
    ) AS m;
-- rows customer_id:string,starting_price:int,bottom_price:int,final_price:int,start_date:date,final_date:date
-- cust_1, 200, 50, 100, 2026-05-12, 2026-05-17
-- cust_2, 8, 4, 9, 2026-05-13, 2026-05-19

-- == a rise above the start, with a union
SELECT * FROM orders MATCH_RECOGNIZE(
     PARTITION BY customer_id
     ORDER BY order_date
     MEASURES
              A.price AS starting_price,
              LAST(B.price) AS bottom_price,
              LAST(U.price) AS top_price
     ONE ROW PER MATCH
     AFTER MATCH SKIP PAST LAST ROW
     PATTERN (A B+ C+ D+)
     SUBSET U = (C, D)
     DEFINE
              B AS price < PREV(price),
              C AS price > PREV(price) AND price <= A.price,
              D AS price > PREV(price)
     );
-- rows customer_id:string,starting_price:int,bottom_price:int,top_price:int
-- cust_2, 8, 4, 9

-- == CLASSIFIER of a union
SELECT m.id, m.classy, m.upper_classy
FROM (VALUES (1, 90), (2, 80), (3, 70), (4, 80)) t(id, value)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES CLASSIFIER() AS classy, CLASSIFIER(U) AS upper_classy
        ALL ROWS PER MATCH
        PATTERN (A B+ C)
        SUBSET U = (A, C)
        DEFINE B AS value < PREV(value), C AS value > PREV(value)
    ) AS m;
-- rows id:int,classy:string,upper_classy:string
-- 1, A, A
-- 2, B, A
-- 3, B, A
-- 4, C, C

-- == logical navigation with offsets
SELECT m.id, m.first_a, m.second, m.last_but_one
FROM (VALUES (1, 10), (2, 20), (3, 30), (4, 40)) t(id, value)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES FIRST(A.value) AS first_a, FIRST(value, 1) AS second, LAST(value, 1) AS last_but_one
        ALL ROWS PER MATCH
        PATTERN (A+)
        DEFINE A AS true
    ) AS m;
-- rows id:int,first_a:int,second:int,last_but_one:int
-- 1, 10, null, null
-- 2, 10, 20, 10
-- 3, 10, 20, 20
-- 4, 10, 20, 30

-- == physical navigation around logical navigation
SELECT m.id, m.before_first, m.after_last, m.far
FROM (VALUES (1, 10), (2, 20), (3, 30), (4, 40)) t(id, value)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES PREV(FIRST(B.value)) AS before_first, NEXT(FINAL LAST(B.value), 1) AS after_last, PREV(LAST(value), 10) AS far
        ALL ROWS PER MATCH
        PATTERN (A B B)
        DEFINE B AS value > PREV(value)
    ) AS m;
-- rows id:int,before_first:int,after_last:int,far:int
-- 1, null, 40, null
-- 2, 10, 40, null
-- 3, 10, 40, null

-- == arrays of classifiers
SELECT m.id, m.running_labels, m.final_labels
FROM (VALUES (1), (2), (3)) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES RUNNING array_agg(CLASSIFIER()) AS running_labels, FINAL array_agg(lower(CLASSIFIER())) AS final_labels
        ALL ROWS PER MATCH
        PATTERN (A B C)
        DEFINE A AS true
    ) AS m;
-- rows id:int,running_labels:array<string>,final_labels:array<string>
-- 1, [A], [a, b, c]
-- 2, [A, B], [a, b, c]
-- 3, [A, B, C], [a, b, c]

-- == an aggregate of an expression with the match number
SELECT m.id, m.total
FROM (VALUES (1), (2), (3), (4)) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES RUNNING sum(MATCH_NUMBER() * 100 + id) AS total
        ALL ROWS PER MATCH
        PATTERN (A B)
        DEFINE A AS true
    ) AS m;
-- rows id:int,total:bigint
-- 1, 101
-- 2, 203
-- 3, 203
-- 4, 407

-- == max_by with a classifier
SELECT m.best
FROM (VALUES (1, 3), (2, 9), (3, 5)) t(id, value)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES max_by(CLASSIFIER(), value) AS best
        PATTERN (A B C)
        DEFINE A AS true
    ) AS m;
-- rows best:string
-- B

-- == a condition with an aggregate
SELECT m.id, m.running_sum
FROM (VALUES 1, 2, 3, 4, 5, 6, 7, 8) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES RUNNING SUM(id) AS running_sum
        ALL ROWS PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A*)
        DEFINE A AS SUM(A.id) < 10
    ) AS m;
-- rows id:int,running_sum:bigint
-- 1, 1
-- 2, 3
-- 3, 6
-- 4, 4
-- 5, 9
-- 6, 6
-- 7, 7
-- 8, 8

-- == arrays of several rows in a condition
SELECT m.id, m.ids
FROM (VALUES 1, 2, 3, 4, 5, 6) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES array_agg(id) AS ids
        ALL ROWS PER MATCH
        PATTERN (A+)
        DEFINE A AS cardinality(array_agg(A.id)) <= 3
    ) AS m;
-- rows id:int,ids:array<int>
-- 1, [1]
-- 2, [1, 2]
-- 3, [1, 2, 3]
-- 4, [4]
-- 5, [4, 5]
-- 6, [4, 5, 6]

-- == the label of an earlier row in a condition
SELECT m.id, m.cls
FROM (VALUES 1, 2, 3, 4) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES CLASSIFIER() AS cls
        ALL ROWS PER MATCH
        PATTERN ((A | B)*)
        DEFINE A AS PREV(id) IS NULL OR LAST(CLASSIFIER(), 1) = 'B'
    ) AS m;
-- rows id:int,cls:string
-- 1, A
-- 2, B
-- 3, A
-- 4, B

-- == the number of the match in a condition
SELECT m.id, m.mn
FROM (VALUES 1, 2, 3, 4, 5) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES MATCH_NUMBER() AS mn
        ALL ROWS PER MATCH
        PATTERN (A+)
        DEFINE A AS COUNT(*) <= MATCH_NUMBER()
    ) AS m;
-- rows id:int,mn:bigint
-- 1, 1
-- 2, 2
-- 3, 2
-- 4, 3
-- 5, 3

-- == empty pattern
SELECT m.id, m.mn, m.val
FROM (VALUES 1, 2) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES MATCH_NUMBER() AS mn, LAST(id) AS val
        ALL ROWS PER MATCH SHOW EMPTY MATCHES
        PATTERN (() | A)
        DEFINE A AS true
    ) AS m;
-- rows id:int,mn:bigint,val:int
-- 1, 1, null
-- 2, 2, null

-- == an anchor for the start and the end
SELECT m.first_id, m.last_id
FROM (VALUES 1, 2, 3) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES FIRST(id) AS first_id, LAST(id) AS last_id
        PATTERN (^ A+ $)
        DEFINE A AS id < 5
    ) AS m;
-- rows first_id:int,last_id:int
-- 1, 3

-- == a reluctant quantifier
SELECT m.first_id, m.last_id
FROM (VALUES 1, 2, 3, 4, 5) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES FIRST(id) AS first_id, LAST(id) AS last_id
        PATTERN (A{2,4}? B)
        DEFINE B AS id % 2 = 1
    ) AS m;
-- rows first_id:int,last_id:int
-- 1, 3

-- == excluded rows
SELECT m.id, m.cls
FROM (VALUES (1, 90), (2, 80), (3, 70), (4, 80)) t(id, value)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES CLASSIFIER() AS cls
        ALL ROWS PER MATCH
        PATTERN (A {- B+ C+ -} D?)
        DEFINE B AS value < PREV(value), C AS value > PREV(value)
    ) AS m;
-- rows id:int,cls:string
-- 1, A

-- == any order
SELECT m.labels
FROM (VALUES (1, 'c'), (2, 'a'), (3, 'b')) t(id, letter)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES array_agg(CLASSIFIER()) AS labels
        PATTERN (PERMUTE(A, B, C))
        DEFINE A AS letter = 'a', B AS letter = 'b', C AS letter = 'c'
    ) AS m;
-- rows labels:array<string>
-- [C, A, B]

-- == skip to the next row
SELECT m.first_id, m.n
FROM (VALUES 1, 2, 3) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES FIRST(id) AS first_id, COUNT(*) AS n
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B+)
        DEFINE B AS id > PREV(id)
    ) AS m;
-- rows first_id:int,n:bigint
-- 1, 3
-- 2, 2

-- == a subquery in a condition
SELECT m.id, m.limit_of
FROM (VALUES 1, 2, 3, 4) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES (SELECT max(id) FROM (VALUES 7, 8) u(id)) AS limit_of
        ALL ROWS PER MATCH
        PATTERN (A+)
        DEFINE A AS id IN (SELECT x FROM (VALUES 2, 3) v(x))
    ) AS m;
-- rows id:int,limit_of:int
-- 2, 8
-- 3, 8

-- == a quoted variable
SELECT m.cls
FROM (VALUES 1, 2) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES array_agg(CLASSIFIER()) AS cls
        PATTERN ("b" B)
        DEFINE "b" AS id = 1, B AS id = 2
    ) AS m;
-- rows cls:array<string>
-- [b, B]

-- == a lambda and a conditional in MEASURES
SELECT m.doubled, m.kind
FROM (VALUES 1, 2, 3) t(id)
    MATCH_RECOGNIZE (
        ORDER BY id
        MEASURES transform(array_agg(id), x -> x * 2) AS doubled,
                 CASE WHEN FIRST(id) = 1 THEN 'first' ELSE 'later' END AS kind
        PATTERN (A B)
        DEFINE A AS true
    ) AS m;
-- rows doubled:array<int>,kind:string
-- [2, 4], first

-- == pattern recognition in a window
SELECT customer_id, order_date, price, label OVER w AS label, bottom OVER w AS bottom
FROM orders
WINDOW w AS (
    PARTITION BY customer_id
    ORDER BY order_date
    MEASURES CLASSIFIER() AS label, MIN(B.price) AS bottom
    ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A B+)
    DEFINE B AS price < PREV(price)
);
-- rows customer_id:string,order_date:date,price:int,label:string,bottom:int
-- cust_1, 2026-05-11, 100, null, null
-- cust_1, 2026-05-12, 200, B, 50
-- cust_1, 2026-05-14, 100, null, null
-- cust_1, 2026-05-16, 50, null, null
-- cust_1, 2026-05-17, 100, null, null
-- cust_2, 2026-05-13, 8, B, 4
-- cust_2, 2026-05-15, 4, null, null
-- cust_2, 2026-05-18, 6, null, null
-- cust_2, 2026-05-19, 9, null, null

-- == count over the match of a window
SELECT id, count(id) OVER w AS n
FROM (VALUES 1, 2, 3, 4) t(id)
WINDOW w AS (
    ORDER BY id
    ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    AFTER MATCH SKIP TO NEXT ROW
    INITIAL
    PATTERN (A B)
    DEFINE A AS true
);
-- rows id:int,n:bigint
-- 1, 2
-- 2, 2
-- 3, 2
-- 4, 0

-- == date_diff with a unit
SELECT *
FROM orders MATCH_RECOGNIZE (
  PARTITION BY customer_id ORDER BY order_date
  MEASURES date_diff('day', A.order_date, LAST(B.order_date)) AS days
  PATTERN (A B+)
  DEFINE B AS price < PREV(price)
);
-- error
-- SQLEXT_INVALID_PARAMETER_VALUE_DATETIME_UNIT: The value of parameter(s) `unit` in `date_diff` is invalid: expects one of the units without quotes YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, but got the string literal 'day'.
--   4 |   MEASURES date_diff('day', A.order_date, LAST(B.order_date)) AS days
--     |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write the unit without quotes: timestampdiff(MINUTE, a, b), which counts whole units, or timestampadd(MINUTE, 5, ts).
-- write
SELECT *
FROM orders MATCH_RECOGNIZE (
  PARTITION BY customer_id ORDER BY order_date
  MEASURES date_diff(LAST(B.order_date), A.order_date) AS days
  PATTERN (A B+)
  DEFINE B AS price < PREV(price)
);
-- rows customer_id:string,days:int
-- cust_1, 4
-- cust_2, 2

-- == varchar without a length
SELECT CAST(price AS varchar) AS text FROM orders WHERE price > 100;
-- error
-- SQLEXT_DATATYPE_MISSING_SIZE: DataType "VARCHAR" requires a length parameter, for example "VARCHAR"(10). Please specify the length.
--   1 | SELECT CAST(price AS varchar) AS text FROM orders WHERE price > 100
--     |                      ^^^^^^^
-- Hint: write STRING, or a length: VARCHAR(100).
-- write
SELECT CAST(price AS STRING) AS text FROM orders WHERE price > 100;
-- rows text:string
-- 200

-- == UNNEST of an array
SELECT t.x FROM UNNEST(ARRAY[1, 2]) AS t(x);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near ',': missing ']'.
--   1 | SELECT t.x FROM UNNEST(ARRAY[1, 2]) AS t(x)
--     |                               ^
-- Hint: write array(1, 2), and explode(array(1, 2)) for a row of each element.
-- write
SELECT t.x FROM explode(array(1, 2)) AS t(x);
-- rows x:int
-- 1
-- 2

-- == OFFSET before LIMIT
SELECT customer_id FROM (SELECT DISTINCT customer_id FROM orders) ORDER BY customer_id OFFSET 1 LIMIT 1;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'LIMIT'.
--   1 | SELECT customer_id FROM (SELECT DISTINCT customer_id FROM orders) ORDER BY customer_id OFFSET 1 LIMIT 1
--     |                                                                                                 ^^^^^
-- Hint: write LIMIT n OFFSET m.
-- write
SELECT customer_id FROM (SELECT DISTINCT customer_id FROM orders) ORDER BY customer_id LIMIT 1 OFFSET 1;
-- rows customer_id:string
-- cust_2

-- == approx_distinct
SELECT approx_distinct(customer_id) AS customers FROM orders;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function approx_distinct
--   1 | SELECT approx_distinct(customer_id) AS customers FROM orders
--     |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write approx_count_distinct(x).
-- write
SELECT approx_count_distinct(customer_id) AS customers FROM orders;
-- rows customers:bigint
-- 2

-- == names of the result's columns
SELECT cust, low
FROM orders MATCH_RECOGNIZE (
  PARTITION BY customer_id ORDER BY order_date
  MEASURES min(price) AS m
  PATTERN (A B+)
  DEFINE B AS price < PREV(price)
) AS t (cust, low);
-- rows cust:string,low:int
-- cust_1, 50
-- cust_2, 4

-- == a condition with a list of variables and an array of labels
SELECT *
FROM orders MATCH_RECOGNIZE (
  PARTITION BY customer_id ORDER BY order_date
  MEASURES array_join(array_agg(CLASSIFIER()), '-') AS path, count_if(price >= 100) AS high
  PATTERN (A B* C)
  DEFINE B AS price < PREV(price), C AS price > PREV(price) AND regexp_like(customer_id, '^cust')
);
-- rows customer_id:string,path:string,high:bigint
-- cust_1, A-B-C, 2
-- cust_1, A-C, 2
-- cust_2, A-B-C, 0
