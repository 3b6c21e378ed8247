"""Which keys the result of a query has, by which a materialized view is refreshed."""
