{{ config(
    __CONFIG__,
    on_schema_change='fail'
) }}
{%- set evaluated_at -%}
CAST('{{ run_started_at.strftime("%Y-%m-%d %H:%M:%S.%f") }}' AS {{ dbt.type_timestamp() }})
{%- endset %}

WITH due_rows AS (
  SELECT
    __COLUMNS__,
    __PERIOD__ AS period
  FROM {{ predictions() }} AS s
  WHERE {{ is_due() }}
),
due AS (
  SELECT
    s.period,
    COUNT(*) AS n_rows,
    COUNT(__COUNTED__) AS n_labels
  FROM due_rows AS s
  GROUP BY s.period
),
results AS (
__STATEMENT__
),
evaluated AS (
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
    {{ evaluated_at }} AS evaluated_at
  FROM results AS r
  INNER JOIN due AS d
    ON d.period = r.period
)
{%- if is_incremental() %},
-- Periods that would lose a number keep their earlier numbers, with the reason as problem.
kept AS (
  SELECT
    h.period,
    MAX(COALESCE(e.problem, 'no rows are left of a slice')) AS problem
  FROM {{ this }} AS h
  INNER JOIN evaluated AS e
    ON e.period = h.period
    AND e.slice_by = h.slice_by__SAME_KEYS__
  WHERE h.value IS NOT NULL
    AND (e.problem IS NOT NULL OR (e.n = 0 AND e.definition = h.definition))
  GROUP BY h.period
)
{%- endif %}
SELECT
  *
FROM evaluated
{%- if is_incremental() %}
WHERE period NOT IN (SELECT period FROM kept)
UNION ALL
SELECT
  h.period,
  h.slice_by,
  __KEPT_KEYS__h.metric,
  h.value,
  h.low,
  h.high,
  h.method,
  h.n,
  h.n_dropped,
  h.note,
  k.problem,
  h.n_rows,
  h.n_labels,
  h.definition,
  {{ evaluated_at }} AS evaluated_at
FROM {{ this }} AS h
INNER JOIN kept AS k
  ON k.period = h.period
{%- endif %}
