{#
  The relation of the variable `predictions`: a model (preds) of the project that runs, a source
  (lake.preds), or SQL that can follow FROM.
#}
{% macro predictions() %}
  {%- set name = var('predictions') -%}
  {%- set parts = name.split('.') -%}
  {%- if '(' in name or parts | length > 2 -%}
    {{ return(name) }}
  {%- elif parts | length == 2 -%}
    {{ return(source(parts[0], parts[1])) }}
  {%- else -%}
    {{ return(ref(project_name, name)) }}
  {%- endif -%}
{% endmacro %}
