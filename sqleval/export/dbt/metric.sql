{# SELECT * FROM ({{ __PACKAGE__.__MACRO__(ref('preds')) }}) AS r #}
{% macro __MACRO__(relation) -%}
__STATEMENT__
{%- endmacro %}
