-- Fan-out: a large sum comes in and leaves again in pieces; the result is every combination of pieces that adds up to
-- it.
--
-- "->> piece" may map any later piece or skip it, and AFTER MATCH NO SKIP returns every match, not only the preferred
-- one: 600 and 400 make the thousand, and so do 500, 400 and 100. Most combinations do not. The condition on the sum
-- so far ends them early: a combination above the sum that came in is not continued.
--
-- expect:
-- account	n	received	pieces
-- X-17	1	1000	[600,400]
-- X-17	2	1000	[500,400,100]

WITH transfers(account, at, kind, amount) AS (
  VALUES
    ('X-17', TIMESTAMP '2026-03-02 08:00:00', 'in', 1000),
    ('X-17', TIMESTAMP '2026-03-02 08:05:00', 'out', 600),
    ('X-17', TIMESTAMP '2026-03-02 08:07:00', 'out', 500),
    ('X-17', TIMESTAMP '2026-03-02 08:09:00', 'out', 400),
    ('X-17', TIMESTAMP '2026-03-02 08:11:00', 'out', 100),
    ('Y-02', TIMESTAMP '2026-03-02 08:00:00', 'in', 1000),
    ('Y-02', TIMESTAMP '2026-03-02 08:05:00', 'out', 300)
)
SELECT account, n, received, to_json(pieces) AS pieces
FROM transfers MATCH_RECOGNIZE (
  PARTITION BY account
  ORDER BY at
  MEASURES
    MATCH_NUMBER()             AS n,
    received.amount            AS received,
    array_agg(outgoing.amount) AS pieces
  ONE ROW PER MATCH
  AFTER MATCH NO SKIP
  PATTERN (received (->> piece)* ->> last_piece) WITHIN INTERVAL 1 DAY
  SUBSET outgoing = (piece, last_piece)
  DEFINE
    received   AS kind = 'in',
    piece      AS kind = 'out' AND SUM(outgoing.amount) < received.amount,
    last_piece AS kind = 'out' AND SUM(outgoing.amount) = received.amount
)
ORDER BY account, n;
