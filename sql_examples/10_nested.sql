-- A clause over the result of a clause: machines whose outages become longer and longer.
--
-- The inner clause combines the minutes in which a machine does not answer (an x in its history) into outages. The
-- outer one reads the outages as its rows and searches for three or more, each longer than the one before. Every
-- clause is a relation, so clauses nest like subqueries. fan has three outages too, of 2, 1 and 2 minutes.
--
-- expect:
-- machine	first_at	first_minutes	last_at	last_minutes
-- pump	3	1	12	5

WITH pings AS (
  SELECT machine, minute, substr(history, minute, 1) = '.' AS answers
  FROM VALUES
    ('pump', '..x...xxx..xxxxx.'),
    ('fan',  'xx....x..xx......')
    AS histories(machine, history)
  LATERAL VIEW explode(sequence(1, length(history))) AS minute
)
SELECT *
FROM (
  SELECT *
  FROM pings MATCH_RECOGNIZE (
    PARTITION BY machine
    ORDER BY minute
    MEASURES
      FIRST(minute) AS down_at,
      COUNT(*)      AS minutes
    PATTERN (down+)
    DEFINE down AS NOT answers
  )
) AS outages MATCH_RECOGNIZE (
  PARTITION BY machine
  ORDER BY down_at
  MEASURES
    first_one.down_at   AS first_at,
    first_one.minutes   AS first_minutes,
    LAST(worse.down_at) AS last_at,
    LAST(worse.minutes) AS last_minutes
  PATTERN (first_one worse{2,})
  DEFINE worse AS minutes > PREV(minutes)
);
