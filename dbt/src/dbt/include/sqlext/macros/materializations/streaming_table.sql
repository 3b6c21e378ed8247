{#-- A stream into a Delta table. It processes what is there and ends; the next `dbt run` resumes it. --#}

{% materialization streaming_table, adapter='sqlext' %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}

  {{ run_hooks(pre_hooks) }}

  {%- if existing is not none and existing.is_view -%}
    {% do adapter.drop_relation(existing) %}
  {%- endif -%}

  {%- call statement('main') -%}
    {{ create_streaming_table_as(target_relation, compiled_code) }}
  {%- endcall -%}

  {% do apply_grants(target_relation, config.get('grants'), should_revoke(existing, should_full_refresh())) %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{% macro create_streaming_table_as(relation, compiled_code) %}
  create {{ 'or replace' if should_full_refresh() }} streaming table {{ relation }}
  {%- set key = config.get('unique_key') -%}
  {%- if key %}
    upsert key ({{ key if key is string else key | join(', ') }})
  {%- endif %}
    options (
      {%- if config.get('checkpoint_location') %}'checkpointLocation' = '{{ config.get('checkpoint_location') }}', {% endif -%}
      'trigger' = 'available-now')
  as
  {{ compiled_code }}
{% endmacro %}
