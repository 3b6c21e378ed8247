-- Readings before alarms: what a sensor measured in the ten minutes before each of its alarms.
--
-- A pump gives an alarm; whether it was sudden shows in the readings before it. LEFT keeps the alarm of pump C, which
-- has sent nothing, with a count of 0. FILTER counts the readings above the limit. The range ends before the alarm
-- itself (`<`), so that the reading at 08:30, which set it off, does not count.
--
-- expect:
-- pump	raised	readings	high	hottest	last	temperatures
-- A	2026-03-02 08:30:00	3	2	88	88	[61, 84, 88]
-- A	2026-03-02 09:30:00	1	0	62	62	[62]
-- B	2026-03-02 08:45:00	2	0	64	63	[64, 63]
-- C	2026-03-02 08:50:00	0	0	NULL	NULL	[]

WITH alarms(pump, raised) AS (
  VALUES
    ('A', TIMESTAMP '2026-03-02 08:30:00'),
    ('A', TIMESTAMP '2026-03-02 09:30:00'),
    ('B', TIMESTAMP '2026-03-02 08:45:00'),
    ('C', TIMESTAMP '2026-03-02 08:50:00')
),
readings(pump, at, celsius) AS (
  VALUES
    ('A', TIMESTAMP '2026-03-02 08:10:00', 60),
    ('A', TIMESTAMP '2026-03-02 08:20:00', 61),
    ('A', TIMESTAMP '2026-03-02 08:25:00', 84),
    ('A', TIMESTAMP '2026-03-02 08:28:00', 88),
    ('A', TIMESTAMP '2026-03-02 08:30:00', 93),
    ('A', TIMESTAMP '2026-03-02 09:25:00', 62),
    ('B', TIMESTAMP '2026-03-02 08:36:00', 64),
    ('B', TIMESTAMP '2026-03-02 08:44:00', 63)
)
SELECT a.pump, a.raised, readings, high, hottest, last, temperatures
FROM alarms a
  LEFT INTERVAL JOIN readings r
    ON r.pump = a.pump AND r.at >= a.raised - INTERVAL 10 MINUTES AND r.at < a.raised
    AGGREGATE (
      count(*) AS readings, count(*) FILTER (WHERE r.celsius > 80) AS high, max(r.celsius) AS hottest,
      last(r.celsius) AS last, collect_list(r.celsius) AS temperatures
    )
ORDER BY a.pump, a.raised;
