-- Card testing: a thief tries a stolen card with small charges and then makes one a hundred times as large.
--
-- MAX(probe.amount) in DEFINE is the largest probe of the match so far, so "strike" is compared with the probes before
-- it. WITH UNMATCHED ROWS keeps every charge: the result is the input with a column that names the role of the charge,
-- or NULL if it has none. Card 4712 has small charges too, but not within ten minutes of the large one.
--
-- expect:
-- card	at	amount	role
-- 4711	2026-03-02 08:00:00	42.00	NULL
-- 4711	2026-03-02 12:00:00	1.00	PROBE
-- 4711	2026-03-02 12:01:00	1.50	PROBE
-- 4711	2026-03-02 12:04:00	899.00	STRIKE
-- 4711	2026-03-02 15:00:00	12.00	NULL
-- 4712	2026-03-02 09:00:00	2.00	NULL
-- 4712	2026-03-02 09:20:00	3.00	NULL
-- 4712	2026-03-02 09:25:00	350.00	NULL

WITH charges(card, at, amount) AS (
  VALUES
    (4711, TIMESTAMP '2026-03-02 08:00:00',  42.00),
    (4711, TIMESTAMP '2026-03-02 12:00:00',   1.00),
    (4711, TIMESTAMP '2026-03-02 12:01:00',   1.50),
    (4711, TIMESTAMP '2026-03-02 12:04:00', 899.00),
    (4711, TIMESTAMP '2026-03-02 15:00:00',  12.00),
    (4712, TIMESTAMP '2026-03-02 09:00:00',   2.00),
    (4712, TIMESTAMP '2026-03-02 09:20:00',   3.00),
    (4712, TIMESTAMP '2026-03-02 09:25:00', 350.00)
)
SELECT card, at, amount, role
FROM charges MATCH_RECOGNIZE (
  PARTITION BY card
  ORDER BY at
  MEASURES CLASSIFIER() AS role
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  PATTERN (probe{2,} strike) WITHIN INTERVAL 10 MINUTES
  DEFINE
    probe  AS amount < 5,
    strike AS amount >= 100 * MAX(probe.amount)
)
ORDER BY card, at;
