{#
  A gate on the periods of the last run that evaluated any, with the meaning of gates in sqleval's
  job files. It returns the periods and slices that fail; an undefined value, or one with nothing
  to compare with, does not.

  metric     a metric of the history, or `rows` (used or left out), or `matured` (the share of the
             period's rows that have a label)
  operator   <, <=, > or >=: the value must be so
  bound      the number that it is compared with
  previous   compare with the mean of this many previous periods plus the bound
  baseline   compare with the mean of the periods between two dates plus the bound
  by         check only the slices of these keys; [] is all rows together
  min_rows   check only slices with at least this many rows
  on         check value, low or high
  in_a_row   fail only after this many periods in a row
#}
{% test gate(model, metric, operator, bound, previous=none, baseline=none, by=none, min_rows=0,
             on='value', in_a_row=1) %}
{%- set slice -%}__SLICE__{%- endset -%}
WITH checked AS (
  {%- if metric in ('rows', 'matured') %}
  SELECT
    period,
    {{ slice }},
    definition,
    evaluated_at,
    MAX(n) AS n,
    {{ 'MAX(n + n_dropped)' if metric == 'rows' else '1e0 * MAX(n_labels) / MAX(n_rows)' }} AS value
  FROM {{ model }}
  GROUP BY period, {{ slice }}, definition, evaluated_at
  {%- else %}
  SELECT
    *
  FROM {{ model }}
  WHERE metric = '{{ metric | replace("'", "''") }}'
  {%- endif %}
),
compared AS (
  SELECT
    period,
    {{ slice }},
    evaluated_at,
    n,
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
judged AS (
  SELECT
    *,
    SUM(CASE WHEN checked_value {{ operator }} checked_limit THEN 0
             WHEN checked_value IS NULL OR checked_limit IS NULL THEN 0
             ELSE 1 END) OVER (
      PARTITION BY {{ slice }}
      ORDER BY period
      ROWS BETWEEN {{ in_a_row - 1 }} PRECEDING AND CURRENT ROW
    ) AS failures
  FROM compared
)
SELECT
  period,
  {{ slice }},
  n,
  checked_value,
  checked_limit
FROM judged
WHERE failures = {{ in_a_row }}
  AND evaluated_at = (SELECT MAX(evaluated_at) FROM {{ model }})
{% endtest %}
