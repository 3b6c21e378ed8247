-- Landings and go-arounds in surveillance data: an approach that ends on the ground or in a climb.
--
-- An alternation takes its first branch that leads to a match: "landed", or two rows that climb. The SUBSET gives both
-- endings one name, and CLASSIFIER(ending) returns which of them it was. SWR7K breaks off its first approach at 1,500
-- ft. There is a row every minute. The airfield lies at 364 ft, so an aircraft that is not above it has landed.
--
-- expect:
-- callsign	approach_from	lowest_ft	ended_at	ending
-- DLH1AB	2026-03-02 10:02:00	1300	2026-03-02 10:06:00	LANDED
-- SWR7K	2026-03-02 10:01:00	1500	2026-03-02 10:06:00	GO_AROUND
-- SWR7K	2026-03-02 10:08:00	1200	2026-03-02 10:11:00	LANDED

WITH positions AS (
  SELECT callsign, timestampadd(MINUTE, pos, TIMESTAMP '2026-03-02 10:00:00') AS at, altitude_ft
  FROM VALUES
    ('DLH1AB', array(5200, 4400, 3600, 2900, 2100, 1300, 364, 364)),
    ('SWR7K',  array(5000, 3900, 3000, 2200, 1500, 2400, 3300, 3900, 3000, 2100, 1200, 364, 364))
    AS flights(callsign, altitudes)
  LATERAL VIEW posexplode(altitudes) AS pos, altitude_ft
)
SELECT *
FROM positions MATCH_RECOGNIZE (
  PARTITION BY callsign
  ORDER BY at
  MEASURES
    FIRST(approach.at)        AS approach_from,
    MIN(approach.altitude_ft) AS lowest_ft,
    LAST(at)                  AS ended_at,
    CLASSIFIER(ending)        AS ending
  PATTERN (approach+ (landed | go_around{2}))
  SUBSET ending = (landed, go_around)
  DEFINE
    approach  AS altitude_ft > 364 AND altitude_ft < 4000 AND altitude_ft <= PREV(altitude_ft),
    landed    AS altitude_ft <= 364,
    go_around AS altitude_ft > PREV(altitude_ft)
)
ORDER BY callsign, approach_from;
