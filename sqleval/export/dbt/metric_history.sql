{{ config(
    __CONFIG__,
    on_schema_change='fail'
) }}

-- Due are new periods, those whose number of rows or of labels changed, those that were evaluated
-- by another version of this package, and those whose rows had a problem.
WITH due AS (
  SELECT
    c.period,
    c.n_rows,
    c.n_labels
  FROM (
    SELECT
      __PERIOD__ AS period,
      COUNT(*) AS n_rows,
      COUNT(__COUNTED__) AS n_labels
    FROM {{ predictions() }} AS s
    WHERE __TIME__ IS NOT NULL
    GROUP BY __PERIOD__
  ) AS c
  {%- if is_incremental() %}
  WHERE NOT EXISTS (
    SELECT 1
    FROM {{ this }} AS h
    WHERE h.period = c.period
      AND h.n_rows = c.n_rows
      AND h.n_labels = c.n_labels
      AND h.definition = '__DEFINITION__'
      AND h.problem IS NULL
  )
  {%- endif %}
),
due_rows AS (
  SELECT
    __COLUMNS__,
    d.period
  FROM {{ predictions() }} AS s
  INNER JOIN due AS d
    ON d.period = __PERIOD__
  WHERE __TIME__ >= (SELECT MIN(period) FROM due)
),
results AS (
__STATEMENT__
)
SELECT
  r.period,
  __SLICE_BY__ AS slice_by,
  __KEYS__r.metric,
  CASE WHEN r._problem IS NULL THEN r.value END AS value,
  CASE WHEN r._problem IS NULL THEN r.low END AS low,
  CASE WHEN r._problem IS NULL THEN r.high END AS high,
  r.method,
  r.n,
  r.n_dropped,
  r.note,
  r._problem AS problem,
  d.n_rows,
  d.n_labels,
  CAST('__DEFINITION__' AS {{ dbt.type_string() }}) AS definition,
  CAST('{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S.%f") }}' AS {{ dbt.type_timestamp() }})
    AS evaluated_at
FROM results AS r
INNER JOIN due AS d
  ON d.period = r.period
