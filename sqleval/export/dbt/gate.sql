{#
  A gate on the periods of the last run that evaluated any. It means the same as a gate in sqleval's
  job files. It returns, and prints, the periods and slices that fail: the check does not hold, the
  rows of the period have a problem, or the gate can judge nothing in the period.

  metric     a metric of the history, or `rows` (used or left out), or `matured` (the share of the
             period's rows that have a label)
  operator   <, <=, > or >=: the comparison that must hold
  bound      the number to compare with
  previous   compare with the mean of this many previous periods plus the bound
  baseline   compare with the mean of the periods between two dates plus the bound
  by         check only the slices of these keys; [] is all rows together
  min_rows   check only slices with at least this many rows
  on         check value, low or high
  in_a_row   fail only after this many periods in a row
  undefined  fail: any undefined value fails; ignore: an undefined value never fails
#}
{% test gate(model, metric, operator, bound, previous=none, baseline=none, by=none, min_rows=0,
             on='value', in_a_row=1, undefined=none) %}
{%- set slice -%}__SLICE__{%- endset -%}
{%- set subjects = __SUBJECTS__ -%}
{%- set query -%}
WITH history AS (
  SELECT
    *,
    1e0 * n_labels / n_rows AS matured
  FROM {{ model }}
),
checked AS (
  {%- if metric in subjects %}
  SELECT
    period,
    {{ slice }},
    definition,
    MAX(n) AS n,
    MAX({{ subjects[metric] }}) AS value,
    MAX(problem) AS problem,
    MAX(note) AS note
  FROM history
  GROUP BY period, {{ slice }}, definition
  {%- else %}
  SELECT
    *
  FROM history
  WHERE metric = '{{ metric | replace("'", "''") }}'
  {%- endif %}
),
compared AS (
  SELECT
    period,
    {{ slice }},
    n,
    problem,
    note,
    {{ on }} AS checked_value,
    {%- if previous is not none %}
    AVG(value) OVER (
      PARTITION BY {{ slice }}, definition, CASE WHEN value IS NULL THEN 1 ELSE 0 END
      ORDER BY period
      ROWS BETWEEN {{ previous }} PRECEDING AND 1 PRECEDING
    ) +
    {%- elif baseline is not none %}
    AVG(
      CASE
        WHEN period BETWEEN CAST('{{ baseline[0] }}' AS DATE) AND CAST('{{ baseline[1] }}' AS DATE)
        THEN value
      END
    ) OVER (PARTITION BY {{ slice }}, definition) +
    {%- endif %} ({{ bound }}) AS checked_limit
  FROM checked
  WHERE n >= {{ min_rows }}
  {%- if by is not none %}
    AND slice_by = '{{ (by | join(", ") or "overall") | replace("'", "''") }}'
  {%- endif %}
),
-- 1 if the check does not hold, 0 if it holds, NULL if there is nothing to compare.
judged AS (
  SELECT
    *,
    CASE WHEN checked_value {{ operator }} checked_limit THEN 0
         WHEN checked_value IS NULL OR checked_limit IS NULL THEN NULL
         ELSE 1 END AS fails
  FROM compared
),
counted AS (
  SELECT
    *,
    SUM(COALESCE(fails, 0)) OVER (
      PARTITION BY {{ slice }}
      ORDER BY period
      ROWS BETWEEN {{ in_a_row - 1 }} PRECEDING AND CURRENT ROW
    ) AS failures,
    {#- A period without previous ones does not fail; one without a baseline does. #}
    {%- if previous is not none %}
    COUNT(checked_value)
    {%- elif baseline is not none %}
    SUM(CASE WHEN fails IS NOT NULL
               OR (checked_value IS NOT NULL AND period <= CAST('{{ baseline[1] }}' AS DATE))
             THEN 1 ELSE 0 END)
    {%- else %}
    COUNT(fails)
    {%- endif %} OVER (PARTITION BY period) AS n_judged
  FROM judged
),
last_periods AS (
  SELECT DISTINCT
    period
  FROM {{ model }}
  WHERE evaluated_at = (SELECT MAX(evaluated_at) FROM {{ model }})
)
SELECT
  p.period,
  {{ slice }},
  c.n,
  c.checked_value,
  c.checked_limit,
  CASE
    WHEN c.period IS NULL THEN 'no slice has a result{{ " with at least %d rows" % min_rows if min_rows else "" }}'
    WHEN c.problem IS NOT NULL THEN c.problem
    WHEN c.failures = {{ in_a_row }} THEN 'it is not {{ operator }} the limit'
    WHEN c.checked_value IS NULL THEN COALESCE('no value: ' || c.note, 'no value')
    ELSE 'the baseline has no value'
  END AS reason
FROM last_periods AS p
LEFT JOIN counted AS c
  ON c.period = p.period
WHERE c.failures = {{ in_a_row }}
  OR c.problem IS NOT NULL
  {%- if undefined == 'fail' %}
  OR c.checked_value IS NULL
  {%- endif %}
  {%- if undefined != 'ignore' %}
  OR c.period IS NULL
  OR c.n_judged = 0
  {%- endif %}
{%- endset -%}
{%- if execute and flags.WHICH in ('build', 'test') -%}
  {%- set keys, failures = __KEYS__, {} -%}
  {%- set gate = 'gate ' ~ (context['model'].description or context['model'].name) ~ ': ' -%}
  {%- for row in run_query(query ~ '\nORDER BY 1, 2').rows -%}
    {%- set n, value, limit, reason = row[keys | length + 2:] -%}
    {%- set slices = [] -%}
    {%- for key in keys -%}
      {%- set at = row[loop.index + 1] -%}
      {%- if at is not none or key in (row[1] or '').split(', ') -%}
        {%- do slices.append(key ~ '=' ~ ('NULL' if at is none else at)) -%}
      {%- endif -%}
    {%- endfor -%}
    {%- set slice = slices | join(', ') or row[1] or 'all slices' -%}
    {%- set line = row[0] ~ ', ' ~ slice ~ ': ' ~ metric ~ ' ' ~ value ~ ', limit ' ~ limit -%}
    {#- Slices with the same cause share one line. -#}
    {%- set cause = (row[0], reason, slice if reason.startswith('it is not ') else '') -%}
    {%- do failures.setdefault(cause, []).append(line ~ ', ' ~ n ~ ' rows: ' ~ reason) -%}
  {%- endfor -%}
  {%- for lines in (failures.values() | list)[:10] -%}
    {%- set more = ' (and ' ~ (lines | length - 1) ~ ' more slices)' if lines | length > 1 else '' -%}
    {{ log(gate ~ lines[0] ~ more, info=true) }}
  {%- endfor -%}
  {%- if failures | length > 10 -%}
    {{ log(gate ~ 'and ' ~ (failures | length - 10) ~ ' more', info=true) }}
  {%- endif -%}
{%- endif -%}
{{ query }}
{% endtest %}
