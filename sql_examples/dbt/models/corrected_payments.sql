{#- Every payment as it was reported last: late ones are added, and corrected ones replaced. -#}
{{ config(materialized='incremental', incremental_strategy='merge', unique_key=['card', 'ts', 'kind'],
          tblproperties={'delta.enableChangeDataFeed': 'true'}) }}
SELECT card, ts, kind, amount, country
  FROM {{ ref('raw_payments') }}
