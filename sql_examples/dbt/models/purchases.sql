{{ config(materialized='ephemeral') }}
SELECT card, ts, amount, country FROM {{ ref('payments') }} WHERE kind = 'purchase'
