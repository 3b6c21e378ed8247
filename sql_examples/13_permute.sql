-- Applications with all three papers, in any order of arrival, followed by the approval.
--
-- PERMUTE(a, b, c) stands for the six orders of its elements, tried in the order of the list. CLASSIFIER(paper) with a
-- SUBSET name returns the variable of the last row of that union, so it names the paper that came last. bob sends his
-- identity twice; the match begins with the second one. cyd was approved without proof of income and is not in the
-- result.
--
-- expect:
-- applicant	first_paper_on	came_last	approved_on
-- ann	2026-03-02	ADDRESS	2026-03-06
-- bob	2026-03-03	INCOME	2026-03-09

WITH files(applicant, day, event) AS (
  VALUES
    ('ann', DATE '2026-03-02', 'income'),
    ('ann', DATE '2026-03-03', 'identity'),
    ('ann', DATE '2026-03-05', 'address'),
    ('ann', DATE '2026-03-06', 'approval'),
    ('bob', DATE '2026-03-02', 'identity'),
    ('bob', DATE '2026-03-03', 'identity'),
    ('bob', DATE '2026-03-04', 'address'),
    ('bob', DATE '2026-03-05', 'income'),
    ('bob', DATE '2026-03-09', 'approval'),
    ('cyd', DATE '2026-03-02', 'identity'),
    ('cyd', DATE '2026-03-03', 'address'),
    ('cyd', DATE '2026-03-04', 'approval')
)
SELECT *
FROM files MATCH_RECOGNIZE (
  PARTITION BY applicant
  ORDER BY day
  MEASURES
    FIRST(paper.day)  AS first_paper_on,
    CLASSIFIER(paper) AS came_last,
    approval.day      AS approved_on
  PATTERN (PERMUTE(identity, income, address) approval)
  SUBSET paper = (identity, income, address)
  DEFINE
    identity AS event = 'identity',
    income   AS event = 'income',
    address  AS event = 'address',
    approval AS event = 'approval'
)
ORDER BY applicant;
