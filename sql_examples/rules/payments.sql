-- Terminal 2 of docs/rules.md: payments of this minute. The last one lets the watermark pass the others.

INSERT INTO card_payments
SELECT card, current_timestamp() + make_dt_interval(0, 0, 0, seconds), kind, amount
  FROM VALUES
    ('ann',  0, 'purchase',   1), ('ann', 1, 'purchase',  1), ('ann', 2, 'purchase', 900),
    ('fay',  0, 'cash',     600), ('fay', 1, 'purchase', 10), ('fay', 2, 'cash',     700),
    ('end', 60, 'purchase',   1) AS payment(card, seconds, kind, amount);
