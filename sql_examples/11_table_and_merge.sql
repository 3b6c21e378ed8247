-- Matches in a Delta table that is kept up to date: CREATE TABLE AS for the first load, MERGE for later rows.
--
-- The clause may stand wherever a relation may stand, also in the USING of a MERGE. An outage that had not ended when
-- the table was created has grown (web), and another one is new (db). Host and first minute identify an outage: they
-- do not change when later rows are added.
--
-- expect:
-- num_affected_rows	num_updated_rows	num_deleted_rows	num_inserted_rows
-- 2	1	0	1
--
-- expect:
-- host	down_from	down_until
-- db	2026-03-02 10:00:00	2026-03-02 10:00:00
-- db	2026-03-02 10:03:00	2026-03-02 10:03:00
-- web	2026-03-02 10:01:00	2026-03-02 10:03:00

CREATE OR REPLACE TABLE example_checks AS
SELECT *
FROM VALUES
  ('web', TIMESTAMP '2026-03-02 10:00:00', 'up'),
  ('web', TIMESTAMP '2026-03-02 10:01:00', 'down'),
  ('web', TIMESTAMP '2026-03-02 10:02:00', 'down'),
  ('db',  TIMESTAMP '2026-03-02 10:00:00', 'down'),
  ('db',  TIMESTAMP '2026-03-02 10:01:00', 'up')
  AS checks(host, at, status);

CREATE OR REPLACE TABLE example_outages AS
SELECT *
FROM example_checks MATCH_RECOGNIZE (
  PARTITION BY host
  ORDER BY at
  MEASURES
    FIRST(at) AS down_from,
    LAST(at)  AS down_until
  PATTERN (down+)
  DEFINE down AS status = 'down'
);

INSERT INTO example_checks VALUES
  ('web', TIMESTAMP '2026-03-02 10:03:00', 'down'),
  ('web', TIMESTAMP '2026-03-02 10:04:00', 'up'),
  ('db',  TIMESTAMP '2026-03-02 10:02:00', 'up'),
  ('db',  TIMESTAMP '2026-03-02 10:03:00', 'down');

MERGE INTO example_outages AS known
USING (
  SELECT *
  FROM example_checks MATCH_RECOGNIZE (
    PARTITION BY host
    ORDER BY at
    MEASURES
      FIRST(at) AS down_from,
      LAST(at)  AS down_until
    PATTERN (down+)
    DEFINE down AS status = 'down'
  )
) AS found
ON known.host = found.host AND known.down_from = found.down_from
WHEN MATCHED AND known.down_until < found.down_until THEN UPDATE SET down_until = found.down_until
WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM example_outages ORDER BY host, down_from;

DROP TABLE example_outages;
DROP TABLE example_checks;
