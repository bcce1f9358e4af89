{#
  The relation with the predictions, from the variable `predictions`: the name of a model (preds)
  of the project that runs, or of a source (lake.preds), or else SQL that can stand after FROM.
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
