-- Bin packing in order of arrival: parcels go onto a truck until the next one would make it heavier than 20 kg.
--
-- SUM(parcel.kg) in DEFINE is the running sum over the match so far, including the row that is tested. It starts again
-- with each match, which no window function can do. Each match is a truck and MATCH_NUMBER() is its number. The
-- default, AFTER MATCH SKIP PAST LAST ROW, begins the next truck with the parcel that did not fit.
--
-- expect:
-- parcel_id	kg	truck	loaded_kg
-- 1	8	1	8
-- 2	7	1	15
-- 3	5	1	20
-- 4	1	2	1
-- 5	12	2	13
-- 6	8	3	8
-- 7	15	4	15
-- 8	6	5	6

WITH parcels(parcel_id, kg) AS (
  VALUES (1, 8), (2, 7), (3, 5), (4, 1), (5, 12), (6, 8), (7, 15), (8, 6)
)
SELECT parcel_id, kg, truck, loaded_kg
FROM parcels MATCH_RECOGNIZE (
  ORDER BY parcel_id
  MEASURES
    MATCH_NUMBER() AS truck,
    SUM(kg)        AS loaded_kg
  ALL ROWS PER MATCH
  PATTERN (parcel+)
  DEFINE parcel AS SUM(parcel.kg) <= 20
)
ORDER BY parcel_id;
