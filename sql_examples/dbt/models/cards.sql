{{ config(materialized='incremental', incremental_strategy='merge', unique_key='card') }}
SELECT card, max(top) AS top FROM {{ ref('rising') }} GROUP BY card
