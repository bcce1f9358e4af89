{#
  The condition for the rows of the periods that are due, which a build reads. Without a history,
  all periods are due. Otherwise these are due:
  - new periods, and periods whose number of rows or labels changed, among the last `lookback`
    periods of the history and all later ones (a query counts their rows);
  - any periods with a problem, or that another version of this package evaluated.
  The times are constants, so that the warehouse skips files and partitions of other periods.
#}
{% macro is_due() %}
  {%- set time -%}__TIME__{%- endset -%}
  {%- if not is_incremental() -%}
    {{ return(time ~ ' IS NOT NULL') }}
  {%- endif -%}
  {%- set query -%}
SELECT
  MIN(period)
FROM (
  SELECT DISTINCT
    period
  FROM {{ this }}
  ORDER BY period DESC
  LIMIT {{ var('lookback') }}
) AS last_periods
  {%- endset -%}
  {%- set start = run_query(query).rows[0][0] -%}
  {%- if start is none -%}
    {{ return(time ~ ' IS NOT NULL') }}
  {%- endif -%}
  {%- set query -%}
SELECT DISTINCT
  period
FROM (
  SELECT
    c.period
  FROM (
    SELECT
      __PERIOD__ AS period,
      COUNT(*) AS n_rows,
      COUNT(__COUNTED__) AS n_labels
    FROM {{ predictions() }} AS s
    WHERE {{ time }} >= CAST('{{ (start | string)[:10] }}' AS DATE)
    GROUP BY __PERIOD__
  ) AS c
  WHERE NOT EXISTS (
    SELECT 1
    FROM {{ this }} AS h
    WHERE h.period = c.period
      AND h.n_rows = c.n_rows
      AND h.n_labels = c.n_labels
  )
  UNION ALL
  SELECT
    h.period
  FROM {{ this }} AS h
  WHERE h.problem IS NOT NULL
    OR h.definition <> '__DEFINITION__'
) AS due
ORDER BY period
  {%- endset -%}
  {#- Consecutive periods share one condition. -#}
  {%- set spans = [] -%}
  {%- for row in run_query(query).rows -%}
    {%- set first = modules.datetime.date.fromisoformat((row[0] | string)[:10]) -%}
    {%- set after = __AFTER__ -%}
    {%- if spans and spans[-1][1] == first -%}
      {%- set first = spans.pop()[0] -%}
    {%- endif -%}
    {%- do spans.append((first, after)) -%}
  {%- endfor -%}
  {%- set conditions = [] -%}
  {%- for first, after in spans -%}
    {%- do conditions.append(
      '(' ~ time ~ " >= CAST('" ~ first ~ "' AS DATE) AND " ~ time ~ " < CAST('" ~ after ~ "' AS DATE))"
    ) -%}
  {%- endfor -%}
  {{ return(conditions | join('\n    OR ') or '1 = 0') }}
{% endmacro %}
