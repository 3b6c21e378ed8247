{#-- As dbt-spark, but a stored view has no comments of columns. --#}
{% macro sqlext__create_view_as(relation, sql) %}
  {%- if not adapter.has_clauses(sql) -%}
    {{ return(spark__create_view_as(relation, sql)) }}
  {%- endif -%}
  create or replace view {{ relation }}
  {{ comment_clause() }}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  as
    {{ sql }}
{% endmacro %}
