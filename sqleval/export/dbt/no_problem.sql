{#
  Tests that no period has a problem: the error that `sqleval evaluate` raises, such as
  "score='p' is NULL or NaN in 3 of 40 rows". A period with a problem has no values, or keeps its
  earlier ones; the next run evaluates it again.
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
