-- Slowly changing dimension, type 2: versions that overlap or touch are merged into one period, which leaves the gaps.
--
-- The next version belongs to the same period if it begins no later than the latest end so far. That latest end is
-- MAX(valid_to) over the match, not the valid_to of the current row: gold of customer 1 has a version (02-10 to 02-20)
-- inside another one, and a comparison of neighbours only would end the period there. NEXT reads the following row, so
-- the condition belongs to the rows that are linked to their successor, and "latest" maps the one that is not.
--
-- expect:
-- customer	tier	valid_from	valid_to	versions	gap_days
-- 1	gold	2026-01-01	2026-04-01	4	NULL
-- 1	gold	2026-05-01	2026-06-01	1	30
-- 2	silver	2026-01-01	2026-01-15	1	NULL
-- 2	silver	2026-01-20	2026-02-01	1	5

WITH versions(customer, tier, valid_from, valid_to) AS (
  VALUES
    (1, 'gold',   DATE '2026-01-01', DATE '2026-02-01'),
    (1, 'gold',   DATE '2026-02-01', DATE '2026-03-01'),
    (1, 'gold',   DATE '2026-02-10', DATE '2026-02-20'),
    (1, 'gold',   DATE '2026-02-25', DATE '2026-04-01'),
    (1, 'gold',   DATE '2026-05-01', DATE '2026-06-01'),
    (2, 'silver', DATE '2026-01-01', DATE '2026-01-15'),
    (2, 'silver', DATE '2026-01-20', DATE '2026-02-01')
)
SELECT *, datediff(valid_from, lag(valid_to) OVER (PARTITION BY customer ORDER BY valid_from)) AS gap_days
FROM versions MATCH_RECOGNIZE (
  PARTITION BY customer, tier
  ORDER BY valid_from, valid_to
  MEASURES
    FIRST(valid_from) AS valid_from,
    MAX(valid_to)     AS valid_to,
    COUNT(*)          AS versions
  PATTERN (linked* latest)
  DEFINE linked AS NEXT(valid_from) <= MAX(valid_to)
)
ORDER BY customer, valid_from;
