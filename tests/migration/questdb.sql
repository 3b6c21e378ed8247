-- What users of QuestDB and kdb write: joins on time, samples, and q.

-- == relations
CREATE OR REPLACE TEMPORARY VIEW trades AS
SELECT * FROM VALUES ('BTC', TIMESTAMP '2026-01-01 09:00:00', 10.0D, 1), ('BTC', TIMESTAMP '2026-01-01 09:00:30', 12.0D, 3), ('BTC', TIMESTAMP '2026-01-01 11:10:00', 11.0D, 2),
  ('ETH', TIMESTAMP '2026-01-01 09:10:00', 3.0D, 5), ('ETH', TIMESTAMP '2026-01-01 09:20:00', 4.0D, 1) AS trades(symbol, ts, price, amount);
CREATE OR REPLACE TEMPORARY VIEW quotes AS
SELECT * FROM VALUES ('BTC', TIMESTAMP '2026-01-01 09:00:00', 9.5D), ('BTC', TIMESTAMP '2026-01-01 09:00:20', 11.5D), ('ETH', TIMESTAMP '2026-01-01 09:15:00', 3.5D) AS quotes(symbol, ts, bid);

-- == ASOF JOIN
SELECT t.symbol, t.ts, price, bid FROM trades t ASOF JOIN quotes q ON (symbol);
-- write
SELECT t.symbol, t.ts, price, bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) USING (symbol);

-- == ASOF JOIN with TOLERANCE
SELECT t.symbol, t.ts, price, bid FROM trades t ASOF JOIN quotes q ON (symbol) TOLERANCE 15s;
-- write
SELECT t.symbol, t.ts, price, bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.symbol = q.symbol AND q.ts >= t.ts - INTERVAL 15 SECONDS;

-- == LT JOIN
SELECT t.symbol, t.ts, price, bid FROM trades t LT JOIN quotes q ON (symbol);
-- write
SELECT t.symbol, t.ts, price, bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts > q.ts) USING (symbol);

-- == SPLICE JOIN
SELECT t.symbol, t.ts, q.ts, price, bid FROM trades t SPLICE JOIN quotes q ON (symbol);
-- write
SELECT t.symbol, t.ts AS t_ts, q.ts AS q_ts, price, bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.symbol = q.symbol
UNION
SELECT q.symbol, t.ts, q.ts, price, bid FROM quotes q LEFT ASOF JOIN trades t MATCH_CONDITION (q.ts >= t.ts) ON t.symbol = q.symbol;

-- == WINDOW JOIN
SELECT t.symbol, t.ts, avg(bid) AS around FROM trades t WINDOW JOIN quotes q ON (symbol) RANGE BETWEEN 1 minute PRECEDING AND 1 minute FOLLOWING;
-- write
SELECT t.symbol, t.ts, avg(bid) AS around FROM trades t LEFT INTERVAL JOIN quotes q ON t.symbol = q.symbol AND q.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts + INTERVAL 1 MINUTE GROUP BY t.symbol, t.ts;

-- == SAMPLE BY
SELECT ts, symbol, max(price) AS high FROM trades SAMPLE BY 1h;
-- write
SELECT window_start, symbol, max(price) AS high FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY symbol, window_start, window_end;

-- == SAMPLE BY with FILL
SELECT ts, max(price) AS high FROM trades WHERE symbol = 'BTC' SAMPLE BY 1h FILL(PREV);
-- write
SELECT h.ts, high
FROM (SELECT explode(sequence(TIMESTAMP '2026-01-01 09:00:00', TIMESTAMP '2026-01-01 11:00:00', INTERVAL 1 HOUR)) AS ts) h
ASOF JOIN (SELECT date_trunc('HOUR', ts) AS ts, max(price) AS high FROM trades WHERE symbol = 'BTC' GROUP BY ALL) t MATCH_CONDITION (h.ts >= t.ts);

-- == LATEST ON
SELECT symbol, ts, price FROM trades LATEST ON ts PARTITION BY symbol;
-- write
SELECT symbol, ts, price FROM trades QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY ts DESC) = 1;

-- == LATEST BY
SELECT symbol, ts, price FROM trades LATEST BY symbol;
-- write
SELECT symbol, ts, price FROM trades QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY ts DESC) = 1;

-- == timestamp_floor
SELECT timestamp_floor('h', ts) AS hour, sum(amount) AS volume FROM trades GROUP BY hour;
-- write
SELECT date_trunc('HOUR', ts) AS hour, sum(amount) AS volume FROM trades GROUP BY hour;

-- == an interval of time in a text
SELECT symbol, price FROM trades WHERE ts IN '2026-01-01T09';
-- write
SELECT symbol, price FROM trades WHERE date_trunc('HOUR', ts) = TIMESTAMP '2026-01-01 09:00:00';

-- == a running sum
SELECT symbol, ts, sum(amount) OVER (PARTITION BY symbol ORDER BY ts) AS volume FROM trades;

-- == aj
aj[`symbol`ts; trades; quotes];
-- write
SELECT t.*, q.bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.symbol = q.symbol;

-- == aj0, with the time of the quote
aj0[`symbol`ts; trades; quotes];
-- write
SELECT t.symbol, q.ts, t.price, q.bid FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.symbol = q.symbol;

-- == wj
wj[-0D00:01 0D00:00 +\: trades.ts; `symbol`ts; trades; (quotes; (max; `bid))];
-- write
SELECT t.symbol, t.ts, max(q.bid) AS bid FROM trades t LEFT INTERVAL JOIN quotes q ON t.symbol = q.symbol AND q.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts GROUP BY t.symbol, t.ts;

-- == last by
select last price by symbol from trades;
-- write
SELECT symbol, max_by(price, ts) AS price FROM trades GROUP BY symbol;

-- == where with prev
select from trades where price > prev price;
-- write
SELECT symbol, ts, price
FROM trades MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts ALL ROWS PER MATCH PATTERN (up) DEFINE up AS price > PREV(price));

-- == deltas
select symbol, deltas price by symbol from trades;
-- write
SELECT symbol, ts, price - lag(price, 1, 0) OVER (PARTITION BY symbol ORDER BY ts) AS price FROM trades;

-- == xbar
select high: max price, low: min price by symbol, 60 xbar ts.minute from trades;
-- write
SELECT symbol, window_start, max(price) AS high, min(price) AS low FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL 60 MINUTES) GROUP BY symbol, window_start, window_end;

-- == wavg
select amount wavg price by symbol from trades;
-- write
SELECT symbol, sum(amount * price) / sum(amount) AS price FROM trades GROUP BY symbol;
