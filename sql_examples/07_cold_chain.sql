-- Cold chain: a container that was warmer than 8 degrees for half an hour or longer, reading by reading.
--
-- "warm+" maps the whole warm stretch except its last reading, which must be "spoiled": at least 30 minutes after the
-- first one. The stretch at 00:10 is too short. ALL ROWS PER MATCH returns the readings themselves. A measure is
-- RUNNING unless it says FINAL: minutes_so_far grows from row to row, while peak is that of the whole match on every
-- row.
--
-- expect:
-- container	at	celsius	minutes_so_far	peak
-- C1	2026-03-02 00:40:00	8.2	0	10.4
-- C1	2026-03-02 00:50:00	9.5	10	10.4
-- C1	2026-03-02 01:00:00	10.4	20	10.4
-- C1	2026-03-02 01:10:00	9.0	30	10.4

WITH readings(container, at, celsius) AS (
  VALUES
    ('C1', TIMESTAMP '2026-03-02 00:00:00',  5.0),
    ('C1', TIMESTAMP '2026-03-02 00:10:00',  8.5),
    ('C1', TIMESTAMP '2026-03-02 00:20:00',  9.1),
    ('C1', TIMESTAMP '2026-03-02 00:30:00',  7.9),
    ('C1', TIMESTAMP '2026-03-02 00:40:00',  8.2),
    ('C1', TIMESTAMP '2026-03-02 00:50:00',  9.5),
    ('C1', TIMESTAMP '2026-03-02 01:00:00', 10.4),
    ('C1', TIMESTAMP '2026-03-02 01:10:00',  9.0),
    ('C1', TIMESTAMP '2026-03-02 01:20:00',  6.0)
)
SELECT container, at, celsius, minutes_so_far, peak
FROM readings MATCH_RECOGNIZE (
  PARTITION BY container
  ORDER BY at
  MEASURES
    timestampdiff(MINUTE, FIRST(at), LAST(at)) AS minutes_so_far,
    FINAL MAX(celsius)                         AS peak
  ALL ROWS PER MATCH
  PATTERN (warm+ spoiled)
  DEFINE
    warm    AS celsius > 8,
    spoiled AS celsius > 8 AND at >= FIRST(warm.at + INTERVAL 30 MINUTES)
)
ORDER BY container, at;
