{#
  The rows could be evaluated. A problem is the error that `sqleval evaluate` raises, such as
  "score='p' is NULL or NaN in 3 of 40 rows"; the values of its periods are NULL, and the next run
  evaluates them again.
#}
{% test no_problem(model) %}
SELECT DISTINCT problem
FROM {{ model }}
WHERE problem IS NOT NULL
{% endtest %}
