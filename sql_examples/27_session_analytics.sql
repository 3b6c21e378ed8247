-- Session analytics: visits of a web shop, where they begin and end, and how many of them reach the checkout.
--
-- SESSION puts clicks of a visitor into one window as long as no two of them are more than 30 minutes apart. EMIT takes
-- the rows of a window in the order of their times, so that first and last are the page of entry and of exit.
--
-- expect:
-- entry	visits	median_pages	median_minutes	bought
-- /home	2	3.0	16.0	1
-- /sale	2	1.5	5.5	1

WITH clicks AS (
  SELECT * FROM VALUES
    ('ann', TIMESTAMP '2026-03-02 08:00:00', '/home'), ('ann', TIMESTAMP '2026-03-02 08:04:00', '/shoes'),
    ('ann', TIMESTAMP '2026-03-02 08:21:00', '/checkout'), ('bob', TIMESTAMP '2026-03-02 08:10:00', '/sale'),
    ('bob', TIMESTAMP '2026-03-02 08:21:00', '/checkout'), ('ann', TIMESTAMP '2026-03-02 19:00:00', '/sale'),
    ('cyd', TIMESTAMP '2026-03-02 09:00:00', '/home'), ('cyd', TIMESTAMP '2026-03-02 09:01:00', '/hats'),
    ('cyd', TIMESTAMP '2026-03-02 09:11:00', '/home')
  AS click(visitor, ts, page)
),
visits AS (
  SELECT visitor, window_start, first(page) AS entry, last(page) AS exit, count(*) AS pages,
    timestampdiff(MINUTE, min(ts), max(ts)) AS minutes
  FROM SESSION(TABLE clicks PARTITION BY visitor, DESCRIPTOR(ts), INTERVAL '30' MINUTES)
  GROUP BY visitor, window_start, window_end
  EMIT AFTER WATERMARK
)
SELECT entry, count(*) AS visits, median(pages) AS median_pages, median(minutes) AS median_minutes,
  count_if(exit = '/checkout') AS bought
FROM visits
GROUP BY entry
ORDER BY entry;
