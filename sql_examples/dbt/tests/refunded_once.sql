-- A test may match rows as well: a purchase is never followed by two refunds.
SELECT *
  FROM {{ ref('payments') }}
  MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY ts
    PATTERN (p r r)
    DEFINE p AS kind = 'purchase', r AS kind = 'refund')
