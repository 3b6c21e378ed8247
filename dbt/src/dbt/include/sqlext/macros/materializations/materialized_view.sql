{#-- A materialized view: `dbt run` creates it, and afterwards computes only the keys whose rows have changed. --#}

{% materialization materialized_view, adapter='sqlext' %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set query = none if existing is none else query_of_materialized_view(this) -%}

  {{ run_hooks(pre_hooks) }}

  {%- if existing is not none and query is none -%}
    {% do adapter.drop_relation(existing) %}
  {%- endif -%}

  {%- if query is none or should_full_refresh() -%}
    {%- call statement('main') -%} {{ create_materialized_view_as(target_relation, compiled_code) }} {%- endcall -%}
  {%- elif query == compiled_code.strip().rstrip(';').rstrip() -%}
    {%- call statement('main') -%} refresh materialized view {{ target_relation }} {%- endcall -%}
  {%- else -%}
    {{ apply_changed_materialized_view(target_relation, compiled_code) }}
  {%- endif -%}

  {% do apply_grants(target_relation, config.get('grants'), should_revoke(existing, should_full_refresh())) %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#-- What dbt's on_configuration_change says about a model whose query has changed. --#}
{% macro apply_changed_materialized_view(relation, compiled_code) %}
  {%- set on_configuration_change = config.get('on_configuration_change') -%}
  {%- if on_configuration_change == 'apply' -%}
    {%- call statement('main') -%} {{ create_materialized_view_as(relation, compiled_code) }} {%- endcall -%}
  {%- else -%}
    {%- set message = 'The query of ' ~ relation ~ ' has changed and on_configuration_change is ' ~ on_configuration_change -%}
    {%- if on_configuration_change == 'fail' -%}
      {% do exceptions.raise_fail_fast_error(message) %}
    {%- endif -%}
    {% do exceptions.warn(message ~ ': it is refreshed by its old one.') %}
    {%- call statement('main') -%} refresh materialized view {{ relation }} {%- endcall -%}
  {%- endif -%}
{% endmacro %}


{% macro create_materialized_view_as(relation, compiled_code) %}
  create or replace materialized view {{ relation }}
  {{ partition_cols(label='partitioned by') }}
  {{ comment_clause() }}
  {{ tblproperties_clause() }}
  as
  {{ compiled_code }}
{% endmacro %}


{#-- The query with which a materialized view was created; none if a relation is none. --#}
{% macro query_of_materialized_view(relation) %}
  {%- set listed = run_query('show materialized views in ' ~ relation.schema ~ " like '" ~ relation.identifier ~ "'") -%}
  {%- if listed.rows | length == 0 -%}
    {{ return(none) }}
  {%- endif -%}
  {%- set properties = run_query('describe materialized view ' ~ relation).rows -%}
  {{ return((properties | selectattr(0, 'equalto', 'query') | first)[1]) }}
{% endmacro %}
