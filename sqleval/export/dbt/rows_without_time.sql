{{ config(severity='warn') }}

-- Rows without a period, which the history leaves out.
SELECT
  __TIME__
FROM {{ predictions() }} AS s
WHERE __TIME__ IS NULL
