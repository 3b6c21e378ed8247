-- Trades with the price that held when they were made, in a table that stays right when prices are corrected later.
--
-- The key of the view is the symbol, of both tables. A corrected price and a late trade change two symbols: REFRESH
-- computes their trades anew, and replaces the two rows that differ. Trades of other symbols are not read.
--
-- expect:
-- symbol	at	amount	price
-- AAA	2026-03-02 10:01:00	5	10.0
-- AAA	2026-03-02 10:06:00	7	12.0
-- BBB	2026-03-02 10:02:00	1	50.0
--
-- expect:
-- num_affected_rows
-- 1
--
-- expect:
-- symbol	at	amount	price
-- AAA	2026-03-02 10:01:00	5	10.0
-- AAA	2026-03-02 10:06:00	7	11.5
-- BBB	2026-03-02 10:00:30	4	50.0
-- BBB	2026-03-02 10:02:00	1	50.0

CREATE OR REPLACE TABLE example_prices AS
SELECT *
FROM VALUES
  ('AAA', TIMESTAMP '2026-03-02 10:00:00', 10.0D),
  ('AAA', TIMESTAMP '2026-03-02 10:05:00', 12.0D),
  ('BBB', TIMESTAMP '2026-03-02 10:00:00', 50.0D)
  AS prices(symbol, at, price);

CREATE OR REPLACE TABLE example_trades AS
SELECT *
FROM VALUES
  ('AAA', TIMESTAMP '2026-03-02 10:01:00', 5),
  ('AAA', TIMESTAMP '2026-03-02 10:06:00', 7),
  ('BBB', TIMESTAMP '2026-03-02 10:02:00', 1)
  AS trades(symbol, at, amount);

CREATE MATERIALIZED VIEW example_priced AS
SELECT t.symbol, t.at, t.amount, p.price
FROM example_trades AS t
  LEFT ASOF JOIN example_prices AS p
    MATCH_CONDITION (t.at >= p.at)
    ON t.symbol = p.symbol;

SELECT * FROM example_priced ORDER BY symbol, at;

UPDATE example_prices SET price = 11.5D WHERE symbol = 'AAA' AND price = 12.0D;

INSERT INTO example_trades VALUES ('BBB', TIMESTAMP '2026-03-02 10:00:30', 4);

REFRESH MATERIALIZED VIEW example_priced;

SELECT * FROM example_priced ORDER BY symbol, at;

DROP MATERIALIZED VIEW example_priced;
DROP TABLE example_trades;
DROP TABLE example_prices;
