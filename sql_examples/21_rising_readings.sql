-- Three rising readings that need not be neighbours: a trend through the noise of a sensor.
--
-- "-> higher" skips readings until the next one above the last mapped reading: 20.1, 20.4 and 20.9 for the oven,
-- although it falls twice in between. A skipped row is tested as if it were mapped. WITHIN … BETWEEN ROWS limits the
-- time between neighbouring rows of the match: the fridge's last reading comes more than five minutes after the one
-- before it.
--
-- expect:
-- sensor	readings	minutes
-- oven	[20.1,20.4,20.9]	6

WITH readings(sensor, at, degrees) AS (
  VALUES
    ('oven', TIMESTAMP '2026-03-02 08:00:00', 20.1),
    ('oven', TIMESTAMP '2026-03-02 08:01:00', 20.0),
    ('oven', TIMESTAMP '2026-03-02 08:03:00', 20.4),
    ('oven', TIMESTAMP '2026-03-02 08:04:00', 20.3),
    ('oven', TIMESTAMP '2026-03-02 08:06:00', 20.9),
    ('fridge', TIMESTAMP '2026-03-02 08:00:00', 4.0),
    ('fridge', TIMESTAMP '2026-03-02 08:02:00', 4.1),
    ('fridge', TIMESTAMP '2026-03-02 08:08:00', 4.2)
)
SELECT sensor, to_json(readings) AS readings, minutes
FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor
  ORDER BY at
  MEASURES
    array_agg(degrees)                             AS readings,
    timestampdiff(MINUTE, FIRST(low.at), LAST(at)) AS minutes
  PATTERN (low (-> higher){2}) WITHIN INTERVAL 5 MINUTES BETWEEN ROWS
  DEFINE higher AS higher.degrees > LAST(degrees, 1)
)
ORDER BY sensor;
