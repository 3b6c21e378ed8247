-- From a log: each failure with the last warning before it, without the other lines in between.
--
-- {- ... -} hides rows from the result of ALL ROWS PER MATCH. They are still part of the match: the pattern needs
-- them, and measures see them, so "left_out" can count them. The warning of 07:06 is followed by no failure.
--
-- expect:
-- machine	at	line	left_out	message
-- press	2026-03-02 07:01:00	WARNING	2	pressure 9.1 bar
-- press	2026-03-02 07:04:00	FAILURE	2	valve closed

WITH log(machine, at, level, message) AS (
  VALUES
    ('press', TIMESTAMP '2026-03-02 07:00:00', 'info',    'shift begins'),
    ('press', TIMESTAMP '2026-03-02 07:01:00', 'warning', 'pressure 9.1 bar'),
    ('press', TIMESTAMP '2026-03-02 07:02:00', 'info',    'part 4401'),
    ('press', TIMESTAMP '2026-03-02 07:03:00', 'info',    'part 4402'),
    ('press', TIMESTAMP '2026-03-02 07:04:00', 'error',   'valve closed'),
    ('press', TIMESTAMP '2026-03-02 07:05:00', 'info',    'restarted'),
    ('press', TIMESTAMP '2026-03-02 07:06:00', 'warning', 'pressure 8.8 bar'),
    ('press', TIMESTAMP '2026-03-02 07:07:00', 'info',    'part 4403')
)
SELECT machine, at, line, left_out, message
FROM log MATCH_RECOGNIZE (
  PARTITION BY machine
  ORDER BY at
  MEASURES
    CLASSIFIER()           AS line,
    FINAL COUNT(chatter.*) AS left_out
  ALL ROWS PER MATCH
  PATTERN (warning {- chatter* -} failure)
  DEFINE
    warning AS level = 'warning',
    chatter AS level = 'info',
    failure AS level = 'error'
)
ORDER BY machine, at;
