CREATE MATERIALIZED VIEW longest AS SELECT max(length) AS length FROM runs;
