-- Advertisements: which impressions were clicked within ten minutes, and the click-through rate.
--
-- A click belongs to an impression of the same visitor and banner that was shown up to ten minutes earlier. LEFT keeps
-- the impressions without a click, so that the same query can compute the rate. Of two clicks on one impression, one
-- counts. The rows are made up from row numbers, with an impression every four seconds.
--
-- expect:
-- banner	impressions	clicked	rate	median_s
-- blue	1000	83	8.3	250.0
-- green	1000	84	8.4	240.5
-- red	1000	203	20.3	246.0

WITH impressions AS (
  SELECT id AS impression, id % 53 AS visitor,
    element_at(array('red', 'green', 'blue'), CAST(id % 3 + 1 AS INT)) AS banner,
    TIMESTAMP '2026-03-02 18:00:00' + id * INTERVAL '4' SECOND AS shown
  FROM range(3000)
),
clicks AS (
  SELECT visitor, banner, shown + (impression * 7919 % 1500) * INTERVAL '1' SECOND AS clicked
  FROM impressions
  WHERE impression % 11 = 0 OR (banner = 'red' AND impression % 7 = 0)
)
SELECT banner, count(*) AS impressions, count(clicked) AS clicked, round(100 * count(clicked) / count(*), 1) AS rate,
  median(seconds) AS median_s
FROM (
  SELECT i.impression, any_value(i.banner) AS banner, min(c.clicked) AS clicked,
    min(timestampdiff(SECOND, i.shown, c.clicked)) AS seconds
  FROM impressions i
    LEFT INTERVAL JOIN clicks c
      ON c.visitor = i.visitor AND c.banner = i.banner
          AND c.clicked BETWEEN i.shown AND i.shown + INTERVAL 10 MINUTES
  GROUP BY i.impression
)
GROUP BY banner
ORDER BY banner;
