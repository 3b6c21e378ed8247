-- What users of QuestDB and kdb write: joins on time, samples, and q. The rows of QuestDB's statements are those of
-- QuestDB 9.3.4; there was no kdb to run. Rows of a table have an order there: the column n of `ticks` is that order.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW trades AS
SELECT * FROM VALUES ('BTC', TIMESTAMP '2026-01-01 09:00:00', 10.0D, 1), ('BTC', TIMESTAMP '2026-01-01 09:00:30', 12.0D, 3), ('BTC', TIMESTAMP '2026-01-01 11:10:00', 11.0D, 2),
  ('ETH', TIMESTAMP '2026-01-01 09:10:00', 3.0D, 5), ('ETH', TIMESTAMP '2026-01-01 09:20:00', 4.0D, 1) AS trades(symbol, ts, price, amount);
CREATE OR REPLACE TEMPORARY VIEW quotes AS
SELECT * FROM VALUES ('BTC', TIMESTAMP '2026-01-01 09:00:00', 9.5D), ('BTC', TIMESTAMP '2026-01-01 09:00:20', 11.5D), ('ETH', TIMESTAMP '2026-01-01 09:15:00', 3.5D) AS quotes(symbol, ts, bid);
CREATE OR REPLACE TEMPORARY VIEW ticks AS
SELECT * FROM VALUES (1, 'BTC', TIMESTAMP '2026-01-01 09:00:00', 2), (2, 'BTC', TIMESTAMP '2026-01-01 09:00:00', 3), (3, 'BTC', TIMESTAMP '2026-01-01 09:00:00', 1), (4, NULL, TIMESTAMP '2026-01-01 09:05:00', 7) AS ticks(n, symbol, ts, size);
CREATE OR REPLACE TEMPORARY VIEW orders AS
SELECT * FROM VALUES ('BTC', TIMESTAMP '2026-01-01 09:00:00'), ('BTC', TIMESTAMP '2026-01-01 09:06:00'), (NULL, TIMESTAMP '2026-01-01 09:06:00') AS orders(symbol, ts);

-- == ASOF JOIN
SELECT t.symbol, t.ts, price, bid FROM trades t ASOF JOIN quotes q ON (symbol);
-- error
-- SQLEXT_MATCH_CONDITION: this ON compares no time of the left relation with one of the right by >=, >, <= or <
--   1 | SELECT t.symbol, t.ts, price, bid FROM trades t ASOF JOIN quotes q ON (symbol)
--     |                                                                       ^^^^^^^^
-- Hint: write MATCH_CONDITION (a.t >= b.t) before ON, or AND a.t >= b.t in it.
-- write
SELECT t.symbol, t.ts, price, bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) USING (symbol);
-- rows symbol:string,ts:timestamp,price:double,bid:double
-- BTC, 2026-01-01 09:00:00, 10.0, 9.5
-- BTC, 2026-01-01 09:00:30, 12.0, 11.5
-- BTC, 2026-01-01 11:10:00, 11.0, 11.5
-- ETH, 2026-01-01 09:10:00, 3.0, null
-- ETH, 2026-01-01 09:20:00, 4.0, 3.5

-- == ASOF JOIN with equal times on the right, and a missing symbol
SELECT o.symbol, o.ts, size FROM orders o ASOF JOIN ticks t ON (symbol);
-- error
-- SQLEXT_MATCH_CONDITION: this ON compares no time of the left relation with one of the right by >=, >, <= or <
--   1 | SELECT o.symbol, o.ts, size FROM orders o ASOF JOIN ticks t ON (symbol)
--     |                                                                ^^^^^^^^
-- Hint: write MATCH_CONDITION (a.t >= b.t) before ON, or AND a.t >= b.t in it.
-- write
SELECT o.symbol, o.ts, size FROM orders o LEFT ASOF JOIN (SELECT * FROM ticks QUALIFY row_number() OVER (PARTITION BY symbol, ts ORDER BY n DESC) = 1) t MATCH_CONDITION (o.ts >= t.ts) ON o.symbol <=> t.symbol;
-- rows symbol:string,ts:timestamp,size:int
-- BTC, 2026-01-01 09:00:00, 1
-- BTC, 2026-01-01 09:06:00, 1
-- null, 2026-01-01 09:06:00, 7

-- == ASOF JOIN with TOLERANCE
SELECT t.symbol, t.ts, price, bid FROM trades t ASOF JOIN quotes q ON (symbol) TOLERANCE 15s;
-- error
-- SQLEXT_MATCH_CONDITION: this ON compares no time of the left relation with one of the right by >=, >, <= or <
--   1 | SELECT t.symbol, t.ts, price, bid FROM trades t ASOF JOIN quotes q ON (symbol) TOLERANCE 15s
--     |                                                                       ^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write MATCH_CONDITION (a.t >= b.t) before ON, or AND a.t >= b.t in it.
-- write
SELECT t.symbol, t.ts, price, bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.symbol = q.symbol AND q.ts >= t.ts - INTERVAL 15 SECONDS;
-- rows symbol:string,ts:timestamp,price:double,bid:double
-- BTC, 2026-01-01 09:00:00, 10.0, 9.5
-- BTC, 2026-01-01 09:00:30, 12.0, 11.5
-- BTC, 2026-01-01 11:10:00, 11.0, null
-- ETH, 2026-01-01 09:10:00, 3.0, null
-- ETH, 2026-01-01 09:20:00, 4.0, null

-- == LT JOIN
SELECT t.symbol, t.ts, price, bid FROM trades t LT JOIN quotes q ON (symbol);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'LT'.
--   1 | SELECT t.symbol, t.ts, price, bid FROM trades t LT JOIN quotes q ON (symbol)
--     |                                                 ^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts > b.ts) ON a.key = b.key.
-- write
SELECT t.symbol, t.ts, price, bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts > q.ts) USING (symbol);
-- rows symbol:string,ts:timestamp,price:double,bid:double
-- BTC, 2026-01-01 09:00:00, 10.0, null
-- BTC, 2026-01-01 09:00:30, 12.0, 11.5
-- BTC, 2026-01-01 11:10:00, 11.0, 11.5
-- ETH, 2026-01-01 09:10:00, 3.0, null
-- ETH, 2026-01-01 09:20:00, 4.0, 3.5

-- == SPLICE JOIN, as its documentation says; QuestDB 9.3.4 returns an older partner where several symbols are mixed
SELECT t.symbol, t.ts, q.ts, price, bid FROM trades t SPLICE JOIN quotes q ON (symbol);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'SPLICE'.
--   1 | SELECT t.symbol, t.ts, q.ts, price, bid FROM trades t SPLICE JOIN quotes q ON (symbol)
--     |                                                       ^^^^^^
-- Hint: write the UNION of two LEFT ASOF JOINs, one from each side.
-- write
SELECT t.symbol, t.ts AS t_ts, q.ts AS q_ts, price, bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.symbol = q.symbol
UNION
SELECT q.symbol, t.ts, q.ts, price, bid FROM quotes q LEFT ASOF JOIN trades t MATCH_CONDITION (q.ts >= t.ts) ON t.symbol = q.symbol;
-- rows symbol:string,t_ts:timestamp,q_ts:timestamp,price:double,bid:double
-- BTC, 2026-01-01 09:00:00, 2026-01-01 09:00:00, 10.0, 9.5
-- BTC, 2026-01-01 09:00:00, 2026-01-01 09:00:20, 10.0, 11.5
-- BTC, 2026-01-01 09:00:30, 2026-01-01 09:00:20, 12.0, 11.5
-- BTC, 2026-01-01 11:10:00, 2026-01-01 09:00:20, 11.0, 11.5
-- ETH, 2026-01-01 09:10:00, 2026-01-01 09:15:00, 3.0, 3.5
-- ETH, 2026-01-01 09:10:00, null, 3.0, null
-- ETH, 2026-01-01 09:20:00, 2026-01-01 09:15:00, 4.0, 3.5

-- == WINDOW JOIN
SELECT t.symbol, t.ts, avg(bid) AS around, count(bid) AS n FROM trades t WINDOW JOIN quotes q ON (symbol) RANGE BETWEEN 1 minute PRECEDING AND 1 minute FOLLOWING;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'WINDOW'.
--   1 | SELECT t.symbol, t.ts, avg(bid) AS around, count(bid) AS n FROM trades t WINDOW JOIN quotes q ON (symbol) RANGE BETWEEN 1 minute PRECEDING AND 1 minute FOLLOWING
--     |                                                                          ^^^^^^
-- Hint: write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts AGGREGATE (max(b.v) AS v) INCLUDING PREVAILING.
-- write
SELECT t.symbol, t.ts, around, n FROM trades t LEFT INTERVAL JOIN quotes q ON t.symbol <=> q.symbol AND q.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts + INTERVAL 1 MINUTE AGGREGATE (avg(bid) AS around, count(bid) AS n) INCLUDING PREVAILING;
-- rows symbol:string,ts:timestamp,around:double,n:bigint
-- BTC, 2026-01-01 09:00:00, 10.5, 2
-- BTC, 2026-01-01 09:00:30, 10.5, 2
-- BTC, 2026-01-01 11:10:00, 11.5, 1
-- ETH, 2026-01-01 09:10:00, null, 0
-- ETH, 2026-01-01 09:20:00, 3.5, 1

-- == WINDOW JOIN without the prevailing row
SELECT t.symbol, t.ts, avg(bid) AS around, count(bid) AS n FROM trades t WINDOW JOIN quotes q ON (symbol) RANGE BETWEEN 1 minute PRECEDING AND 1 minute FOLLOWING EXCLUDE PREVAILING;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'WINDOW'.
--   1 | SELECT t.symbol, t.ts, avg(bid) AS around, count(bid) AS n FROM trades t WINDOW JOIN quotes q ON (symbol) RANGE BETWEEN 1 minute PRECEDING AND 1 minute FOLLOWING EXCLUDE PREVAILING
--     |                                                                          ^^^^^^
-- Hint: write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts AGGREGATE (max(b.v) AS v) INCLUDING PREVAILING.
-- write
SELECT t.symbol, t.ts, around, n FROM trades t LEFT INTERVAL JOIN quotes q ON t.symbol <=> q.symbol AND q.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts + INTERVAL 1 MINUTE AGGREGATE (avg(bid) AS around, count(bid) AS n);
-- rows symbol:string,ts:timestamp,around:double,n:bigint
-- BTC, 2026-01-01 09:00:00, 10.5, 2
-- BTC, 2026-01-01 09:00:30, 10.5, 2
-- BTC, 2026-01-01 11:10:00, null, 0
-- ETH, 2026-01-01 09:10:00, null, 0
-- ETH, 2026-01-01 09:20:00, null, 0

-- == SAMPLE BY
SELECT ts, symbol, max(price) AS high FROM trades SAMPLE BY 1h;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'BY'.
--   1 | SELECT ts, symbol, max(price) AS high FROM trades SAMPLE BY 1h
--     |                                                          ^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT window_start, symbol, max(price) AS high FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY symbol, window_start, window_end;
-- rows window_start:timestamp,symbol:string,high:double
-- 2026-01-01 09:00:00, BTC, 12.0
-- 2026-01-01 09:00:00, ETH, 4.0
-- 2026-01-01 11:00:00, BTC, 11.0

-- == SAMPLE BY weeks
SELECT ts, max(price) AS high FROM trades SAMPLE BY 1w;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'BY'.
--   1 | SELECT ts, max(price) AS high FROM trades SAMPLE BY 1w
--     |                                                  ^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT window_start AS ts, max(price) AS high FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL 7 DAYS, INTERVAL 4 DAYS) GROUP BY window_start, window_end;
-- rows ts:timestamp,high:double
-- 2025-12-29 00:00:00, 12.0

-- == SAMPLE BY with FILL
SELECT ts, max(price) AS high FROM trades WHERE symbol = 'BTC' SAMPLE BY 1h FILL(PREV);
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'SAMPLE'.
--   1 | SELECT ts, max(price) AS high FROM trades WHERE symbol = 'BTC' SAMPLE BY 1h FILL(PREV)
--     |                                                                ^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT h.ts, high
FROM (SELECT explode(sequence(TIMESTAMP '2026-01-01 09:00:00', TIMESTAMP '2026-01-01 11:00:00', INTERVAL 1 HOUR)) AS ts) h
ASOF JOIN (SELECT date_trunc('HOUR', ts) AS ts, max(price) AS high FROM trades WHERE symbol = 'BTC' GROUP BY ALL) t MATCH_CONDITION (h.ts >= t.ts);
-- rows ts:timestamp,high:double
-- 2026-01-01 09:00:00, 12.0
-- 2026-01-01 10:00:00, 12.0
-- 2026-01-01 11:00:00, 11.0

-- == LATEST ON
SELECT symbol, ts, price FROM trades LATEST ON ts PARTITION BY symbol;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'ON'.
--   1 | SELECT symbol, ts, price FROM trades LATEST ON ts PARTITION BY symbol
--     |                                             ^^
-- Hint: write QUALIFY row_number() OVER (PARTITION BY key ORDER BY ts DESC) = 1.
-- write
SELECT symbol, ts, price FROM trades QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY ts DESC) = 1;
-- rows symbol:string,ts:timestamp,price:double
-- BTC, 2026-01-01 11:10:00, 11.0
-- ETH, 2026-01-01 09:20:00, 4.0

-- == LATEST BY
SELECT symbol, ts, price FROM trades LATEST BY symbol;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'BY'.
--   1 | SELECT symbol, ts, price FROM trades LATEST BY symbol
--     |                                             ^^
-- Hint: write QUALIFY row_number() OVER (PARTITION BY key ORDER BY ts DESC) = 1.
-- write
SELECT symbol, ts, price FROM trades QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY ts DESC) = 1;
-- rows symbol:string,ts:timestamp,price:double
-- BTC, 2026-01-01 11:10:00, 11.0
-- ETH, 2026-01-01 09:20:00, 4.0

-- == timestamp_floor
SELECT timestamp_floor('h', ts) AS hour, sum(amount) AS volume FROM trades GROUP BY hour;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function timestamp_floor
--   1 | SELECT timestamp_floor('h', ts) AS hour, sum(amount) AS volume FROM trades GROUP BY hour
--     |        ^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write date_trunc('HOUR', ts), or GROUP BY the windows of TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR).
-- write
SELECT date_trunc('HOUR', ts) AS hour, sum(amount) AS volume FROM trades GROUP BY hour;
-- rows hour:timestamp,volume:bigint
-- 2026-01-01 09:00:00, 10
-- 2026-01-01 11:00:00, 2

-- == an interval of time in a text
SELECT symbol, price FROM trades WHERE ts IN '2026-01-01T09';
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'IN'.
--   1 | SELECT symbol, price FROM trades WHERE ts IN '2026-01-01T09'
--     |                                           ^^
-- Hint: write CAST(ts AS DATE) = DATE '2026-01-01', or ts >= … AND ts < ….
-- write
SELECT symbol, price FROM trades WHERE date_trunc('HOUR', ts) = TIMESTAMP '2026-01-01 09:00:00';
-- rows symbol:string,price:double
-- BTC, 10.0
-- BTC, 12.0
-- ETH, 3.0
-- ETH, 4.0

-- == differs: a running sum with equal times
SELECT n, sum(size) OVER (PARTITION BY symbol ORDER BY ts) AS total FROM ticks;
-- rows n:int,total:bigint
-- 1, 6
-- 2, 6
-- 3, 6
-- 4, 7
-- write
SELECT n, sum(size) OVER (PARTITION BY symbol ORDER BY ts, n ROWS UNBOUNDED PRECEDING) AS total FROM ticks;
-- rows n:int,total:bigint
-- 1, 2
-- 2, 5
-- 3, 6
-- 4, 7

-- == aj
aj[`symbol`ts; trades; quotes];
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'aj'.
--   1 | aj[`symbol`ts; trades; quotes]
--     | ^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT t.*, q.bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.symbol = q.symbol;
-- rows symbol:string,ts:timestamp,price:double,amount:int,bid:double
-- BTC, 2026-01-01 09:00:00, 10.0, 1, 9.5
-- BTC, 2026-01-01 09:00:30, 12.0, 3, 11.5
-- BTC, 2026-01-01 11:10:00, 11.0, 2, 11.5
-- ETH, 2026-01-01 09:10:00, 3.0, 5, null
-- ETH, 2026-01-01 09:20:00, 4.0, 1, 3.5

-- == aj0, with the time of the quote
aj0[`symbol`ts; trades; quotes];
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'aj0'.
--   1 | aj0[`symbol`ts; trades; quotes]
--     | ^^^
-- Hint: write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key.
-- write
SELECT t.symbol, q.ts, t.price, q.bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.symbol = q.symbol;
-- rows symbol:string,ts:timestamp,price:double,bid:double
-- BTC, 2026-01-01 09:00:00, 10.0, 9.5
-- BTC, 2026-01-01 09:00:20, 11.0, 11.5
-- BTC, 2026-01-01 09:00:20, 12.0, 11.5
-- ETH, 2026-01-01 09:15:00, 4.0, 3.5
-- ETH, null, 3.0, null

-- == wj
wj[-0D00:01 0D00:00 +\: trades.ts; `symbol`ts; trades; (quotes; (max; `bid))];
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'wj'.
--   1 | wj[-0D00:01 0D00:00 +\: trades.ts; `symbol`ts; trades; (quotes; (max; `bid))]
--     | ^^
-- Hint: write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts AGGREGATE (max(b.v) AS v) INCLUDING PREVAILING.
-- write
SELECT t.symbol, t.ts, bid FROM trades t LEFT INTERVAL JOIN quotes q ON t.symbol = q.symbol AND q.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts AGGREGATE (max(q.bid) AS bid) INCLUDING PREVAILING;
-- rows symbol:string,ts:timestamp,bid:double
-- BTC, 2026-01-01 09:00:00, 9.5
-- BTC, 2026-01-01 09:00:30, 11.5
-- BTC, 2026-01-01 11:10:00, 11.5
-- ETH, 2026-01-01 09:10:00, null
-- ETH, 2026-01-01 09:20:00, 3.5

-- == wj1, without the prevailing row
wj1[-0D00:01 0D00:00 +\: trades.ts; `symbol`ts; trades; (quotes; (max; `bid))];
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'wj1'.
--   1 | wj1[-0D00:01 0D00:00 +\: trades.ts; `symbol`ts; trades; (quotes; (max; `bid))]
--     | ^^^
-- Hint: write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts AGGREGATE (max(b.v) AS v).
-- write
SELECT t.symbol, t.ts, bid FROM trades t LEFT INTERVAL JOIN quotes q ON t.symbol = q.symbol AND q.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts AGGREGATE (max(q.bid) AS bid);
-- rows symbol:string,ts:timestamp,bid:double
-- BTC, 2026-01-01 09:00:00, 9.5
-- BTC, 2026-01-01 09:00:30, 11.5
-- BTC, 2026-01-01 11:10:00, null
-- ETH, 2026-01-01 09:10:00, null
-- ETH, 2026-01-01 09:20:00, null

-- == last by
select last price by symbol from trades;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'by'.
--   1 | select last price by symbol from trades
--     |                   ^^
-- Hint: write SELECT … FROM … GROUP BY ….
-- write
SELECT symbol, max_by(price, ts) AS price FROM trades GROUP BY symbol;
-- rows symbol:string,price:double
-- BTC, 11.0
-- ETH, 4.0

-- == where with prev
select from trades where price > prev price;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'price': extra input 'price'.
--   1 | select from trades where price > prev price
--     |                                       ^^^^^
-- Hint: write lag(x), lead(x) or x - lag(x) OVER (PARTITION BY … ORDER BY …).
-- write
SELECT symbol, ts, price
FROM trades MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts ALL ROWS PER MATCH PATTERN (up) DEFINE up AS price > PREV(price));
-- rows symbol:string,ts:timestamp,price:double
-- BTC, 2026-01-01 09:00:30, 12.0
-- ETH, 2026-01-01 09:20:00, 4.0

-- == deltas
select symbol, deltas price by symbol from trades;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'by'.
--   1 | select symbol, deltas price by symbol from trades
--     |                             ^^
-- Hint: write lag(x), lead(x) or x - lag(x) OVER (PARTITION BY … ORDER BY …).
-- write
SELECT symbol, ts, price - lag(price, 1, 0) OVER (PARTITION BY symbol ORDER BY ts) AS price FROM trades;
-- rows symbol:string,ts:timestamp,price:double
-- BTC, 2026-01-01 09:00:00, 10.0
-- BTC, 2026-01-01 09:00:30, 2.0
-- BTC, 2026-01-01 11:10:00, -1.0
-- ETH, 2026-01-01 09:10:00, 3.0
-- ETH, 2026-01-01 09:20:00, 1.0

-- == xbar
select high: max price, low: min price by symbol, 60 xbar ts.minute from trades;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'by'.
--   1 | select high: max price, low: min price by symbol, 60 xbar ts.minute from trades
--     |                                        ^^
-- Hint: write SELECT … FROM … GROUP BY ….
-- write
SELECT symbol, window_start, max(price) AS high, min(price) AS low FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL 60 MINUTES) GROUP BY symbol, window_start, window_end;
-- rows symbol:string,window_start:timestamp,high:double,low:double
-- BTC, 2026-01-01 09:00:00, 12.0, 10.0
-- BTC, 2026-01-01 11:00:00, 11.0, 11.0
-- ETH, 2026-01-01 09:00:00, 4.0, 3.0

-- == wavg
select amount wavg price by symbol from trades;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'price'.
--   1 | select amount wavg price by symbol from trades
--     |                    ^^^^^
-- Hint: write sum(size * price) / sum(size), with GROUP BY.
-- write
SELECT symbol, sum(amount * price) / sum(amount) AS price FROM trades GROUP BY symbol;
-- rows symbol:string,price:double
-- BTC, 11.333333333333334
-- ETH, 3.1666666666666665

-- == open, high, low, close
SELECT ts, first(price) AS open, max(price) AS high, min(price) AS low, last(price) AS close FROM trades WHERE symbol = 'BTC' SAMPLE BY 1h ALIGN TO CALENDAR;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'SAMPLE'.
--   1 | SELECT ts, first(price) AS open, max(price) AS high, min(price) AS low, last(price) AS close FROM trades WHERE symbol = 'BTC' SAMPLE BY 1h ALIGN TO CALENDAR
--     |                                                                                                                               ^^^^^^
-- Hint: write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end.
-- write
SELECT window_start AS ts, min_by(price, ts) AS open, max(price) AS high, min(price) AS low, max_by(price, ts) AS close FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL 1 HOUR) WHERE symbol = 'BTC' GROUP BY window_start, window_end;
-- rows ts:timestamp,open:double,high:double,low:double,close:double
-- 2026-01-01 09:00:00, 10.0, 12.0, 10.0, 12.0
-- 2026-01-01 11:00:00, 11.0, 11.0, 11.0, 11.0

-- == dateadd with a letter
SELECT symbol, dateadd('h', 1, ts) AS later FROM trades WHERE symbol = 'ETH';
-- error
-- SQLEXT_INVALID_PARAMETER_VALUE_DATETIME_UNIT: The value of parameter(s) `unit` in `dateadd` is invalid: expects one of the units without quotes YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, but got the string literal 'h'.
--   1 | SELECT symbol, dateadd('h', 1, ts) AS later FROM trades WHERE symbol = 'ETH'
--     |                ^^^^^^^^^^^^^^^^^^^
-- Hint: write the unit without quotes: timestampdiff(MINUTE, a, b), which counts whole units, or timestampadd(MINUTE, 5, ts).
-- write
SELECT symbol, dateadd(HOUR, 1, ts) AS later FROM trades WHERE symbol = 'ETH';
-- rows symbol:string,later:timestamp
-- ETH, 2026-01-01 10:10:00
-- ETH, 2026-01-01 10:20:00

-- == count_distinct
SELECT count_distinct(symbol) AS n FROM trades;
-- error
-- SQLEXT_UNRESOLVED_ROUTINE: there is no function count_distinct
--   1 | SELECT count_distinct(symbol) AS n FROM trades
--     |        ^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write count(DISTINCT x).
-- write
SELECT count(DISTINCT symbol) AS n FROM trades;
-- rows n:bigint
-- 2

-- == datediff with a letter
SELECT symbol, datediff('m', max(ts), min(ts)) AS minutes FROM trades GROUP BY symbol;
-- error
-- SQLEXT_INVALID_PARAMETER_VALUE_DATETIME_UNIT: The value of parameter(s) `unit` in `datediff` is invalid: expects one of the units without quotes YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND, but got the string literal 'm'.
--   1 | SELECT symbol, datediff('m', max(ts), min(ts)) AS minutes FROM trades GROUP BY symbol
--     |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Hint: write the unit without quotes: timestampdiff(MINUTE, a, b), which counts whole units, or timestampadd(MINUTE, 5, ts).
-- write
SELECT symbol, abs(timestampdiff(MINUTE, max(ts), min(ts))) AS minutes FROM trades GROUP BY symbol;
-- rows symbol:string,minutes:bigint
-- BTC, 130
-- ETH, 10

-- == a moving average of q
select 2 mavg price by symbol from trades;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'price'.
--   1 | select 2 mavg price by symbol from trades
--     |               ^^^^^
-- Hint: write avg(x) OVER (PARTITION BY k ORDER BY ts ROWS n PRECEDING).
-- write
SELECT symbol, ts, avg(price) OVER (PARTITION BY symbol ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS price FROM trades;
-- rows symbol:string,ts:timestamp,price:double
-- BTC, 2026-01-01 09:00:00, 10.0
-- BTC, 2026-01-01 09:00:30, 11.0
-- BTC, 2026-01-01 11:10:00, 11.5
-- ETH, 2026-01-01 09:10:00, 3.0
-- ETH, 2026-01-01 09:20:00, 3.5

-- == a running sum of q
update total: sums amount by symbol from trades;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near ':'.
--   1 | update total: sums amount by symbol from trades
--     |             ^
-- Hint: write sum(x) OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED PRECEDING).
-- write
SELECT *, sum(amount) OVER (PARTITION BY symbol ORDER BY ts ROWS UNBOUNDED PRECEDING) AS total FROM trades;
-- rows symbol:string,ts:timestamp,price:double,amount:int,total:bigint
-- BTC, 2026-01-01 09:00:00, 10.0, 1, 1
-- BTC, 2026-01-01 09:00:30, 12.0, 3, 4
-- BTC, 2026-01-01 11:10:00, 11.0, 2, 6
-- ETH, 2026-01-01 09:10:00, 3.0, 5, 5
-- ETH, 2026-01-01 09:20:00, 4.0, 1, 6

-- == a symbol of q
select from trades where symbol=`BTC;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near '`'.
--   1 | select from trades where symbol=`BTC
--     |                                 ^
-- Hint: write a text in single quotes: WHERE sym = 'BTC'.
-- write
SELECT * FROM trades WHERE symbol = 'BTC';
-- rows symbol:string,ts:timestamp,price:double,amount:int
-- BTC, 2026-01-01 09:00:00, 10.0, 1
-- BTC, 2026-01-01 09:00:30, 12.0, 3
-- BTC, 2026-01-01 11:10:00, 11.0, 2

-- == lj
trades lj `symbol xkey quotes;
-- error
-- SQLEXT_PARSE_SYNTAX_ERROR: Syntax error at or near 'trades'.
--   1 | trades lj `symbol xkey quotes
--     | ^^^^^^
-- Hint: write FROM a LEFT JOIN b ON a.k = b.k.
-- write
SELECT t.symbol, t.price, q.bid FROM trades t LEFT JOIN (SELECT symbol, min(bid) AS bid FROM quotes GROUP BY symbol) q ON t.symbol = q.symbol;
-- rows symbol:string,price:double,bid:double
-- BTC, 10.0, 9.5
-- BTC, 11.0, 9.5
-- BTC, 12.0, 9.5
-- ETH, 3.0, 3.5
-- ETH, 4.0, 3.5
