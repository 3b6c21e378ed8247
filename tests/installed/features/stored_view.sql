-- refused without Delta: SQLEXT_SESSION_WITHOUT_DELTA
-- a view over a clause, which the next process knows, too
CREATE OR REPLACE VIEW feature_falls_view AS
SELECT * FROM range(5) MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS id > 1);
SELECT * FROM feature_falls_view;
-- 3
