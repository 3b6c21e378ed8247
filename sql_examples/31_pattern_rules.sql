-- Rules in a table: what is a match is data, which analysts change while queries run.
--
-- Each rule is a MATCH_RECOGNIZE without PARTITION BY and ORDER BY; MATCH_RULES has them for all rules, and sorts the
-- rows once. Over a table each version of a rule acts on the rows of its own time: `spree` from the third of March on, so
-- ann's purchases of the second are none. `refunds` is disabled. The same query over STREAM example_payments follows
-- changes of the rules without a restart (docs/rules.md).
--
-- expect:
-- name	versions	enabled
-- refunds	2	false
-- spree	1	true
-- testing	1	true
--
-- expect:
-- rule_name	card	first_time	measures
-- spree	bob	2026-03-03 09:00:00	{total -> 750.0}
-- testing	ann	2026-03-02 08:00:00	{tests -> 2, amount -> 900.0}

CREATE TABLE example_payments AS
SELECT * FROM VALUES
    ('ann', TIMESTAMP '2026-03-02 08:00:00',   1.0),
    ('ann', TIMESTAMP '2026-03-02 08:00:20',   1.5),
    ('ann', TIMESTAMP '2026-03-02 08:01:00', 900.0),
    ('ann', TIMESTAMP '2026-03-02 08:02:00', 300.0),
    ('ann', TIMESTAMP '2026-03-02 08:03:00', 300.0),
    ('bob', TIMESTAMP '2026-03-02 09:00:00', -20.0),
    ('bob', TIMESTAMP '2026-03-02 09:01:00', -30.0),
    ('bob', TIMESTAMP '2026-03-03 09:00:00', 200.0),
    ('bob', TIMESTAMP '2026-03-03 09:05:00', 250.0),
    ('bob', TIMESTAMP '2026-03-03 09:09:00', 300.0)
  AS payment(card, ts, amount);

CREATE PATTERN RULE testing ON example_rules FOR TABLE example_payments
COMMENT 'stolen cards are tried on small amounts first'
AS MATCH_RECOGNIZE (
  MEASURES
    COUNT(small.*) AS tests,
    big.amount     AS amount
  PATTERN (small{2,} big) WITHIN INTERVAL 10 MINUTES
  DEFINE
    small AS amount BETWEEN 0 AND 2,
    big   AS amount > 500
);

CREATE PATTERN RULE spree ON example_rules
EFFECTIVE FROM TIMESTAMP '2026-03-03 00:00:00'
AS MATCH_RECOGNIZE (
  MEASURES SUM(amount) AS total
  PATTERN (big{3}) WITHIN INTERVAL 10 MINUTES
  DEFINE big AS amount >= 200
);

CREATE PATTERN RULE refunds ON example_rules
AS MATCH_RECOGNIZE (PATTERN (refund{2}) DEFINE refund AS amount < 0);

ALTER PATTERN RULE refunds ON example_rules DISABLE;

SELECT name, max(version) AS versions, max_by(enabled, version) AS enabled
FROM example_rules GROUP BY name ORDER BY name;

SELECT rule_name, card, first_time, measures
FROM example_payments
MATCH_RULES (PARTITION BY card ORDER BY ts RULES example_rules) AS alert
ORDER BY rule_name;

DROP TABLE example_rules;

DROP TABLE example_rules_errors;

DROP TABLE example_payments;
