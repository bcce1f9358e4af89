{{ config(severity='warn') }}

-- Rows that belong to no period, and that the history leaves out.
SELECT
  __TIME__
FROM {{ predictions() }} AS s
WHERE __TIME__ IS NULL
