-- Conditions over several rows: dates, percentages of decimals, texts and aggregates of the match so far.
--
-- A delivery belongs to an order if it comes within three days and its reference begins with that of the order. The
-- match ends with the delivery with which at least 95 % of the order have come.
--
-- expect:
-- customer	reference	ordered	delivered	parts	days
-- ann	A7	100.00	100.00	["A7-1","A7-2"]	2
-- bob	B1	50.10	50.10	["B1-1"]	0

CREATE OR REPLACE TEMP VIEW example_ledger AS
SELECT * FROM VALUES
    ('ann', 1, DATE '2026-03-02', 'order',    'A7',   CAST(100.00 AS DECIMAL(18, 2))),
    ('ann', 2, DATE '2026-03-03', 'delivery', 'A7-1', CAST( 60.00 AS DECIMAL(18, 2))),
    ('ann', 3, DATE '2026-03-04', 'delivery', 'A7-2', CAST( 40.00 AS DECIMAL(18, 2))),
    ('bob', 4, DATE '2026-03-02', 'order',    'B1',   CAST( 50.10 AS DECIMAL(18, 2))),
    ('bob', 5, DATE '2026-03-02', 'delivery', 'B1-1', CAST( 50.10 AS DECIMAL(18, 2))),
    ('cyd', 6, DATE '2026-03-02', 'order',    'C3',   CAST( 20.00 AS DECIMAL(18, 2))),
    ('cyd', 7, DATE '2026-03-09', 'delivery', 'C3-1', CAST( 20.00 AS DECIMAL(18, 2)))
  AS ledger(customer, id, day, kind, reference, amount);

SELECT customer, reference, ordered, delivered, to_json(parts) AS parts, days
FROM example_ledger
MATCH_RECOGNIZE (
  PARTITION BY customer
  ORDER BY id
  MEASURES
    bought.reference               AS reference,
    bought.amount                  AS ordered,
    SUM(came.amount)               AS delivered,
    array_agg(came.reference)      AS parts,
    datediff(done.day, bought.day) AS days
  PATTERN (bought part* done)
  SUBSET came = (part, done)
  DEFINE
    bought AS kind = 'order',
    part   AS kind = 'delivery' AND part.reference LIKE bought.reference || '-%'
        AND datediff(part.day, bought.day) < 3
        AND SUM(part.amount) < 0.95 * bought.amount,
    done   AS kind = 'delivery' AND done.reference LIKE bought.reference || '-%'
        AND datediff(done.day, bought.day) < 3
        AND SUM(came.amount) >= 0.95 * bought.amount
)
ORDER BY customer;

DROP VIEW example_ledger;
