{#
  The rows could be evaluated. A problem is the error that `sqleval evaluate` raises, such as
  "score='p' is NULL or NaN in 3 of 40 rows". Its period has no values, or keeps those that it had;
  the next run evaluates it again.
#}
{% test no_problem(model) %}
{%- set query -%}
SELECT DISTINCT
  period,
  problem
FROM {{ model }}
WHERE problem IS NOT NULL
{%- endset -%}
{%- if execute and flags.WHICH in ('build', 'test') -%}
  {%- for row in run_query(query ~ '\nORDER BY period LIMIT 10').rows -%}
    {{ log('problem: ' ~ row[0] ~ ': ' ~ row[1], info=true) }}
  {%- endfor -%}
{%- endif -%}
{{ query }}
{% endtest %}
