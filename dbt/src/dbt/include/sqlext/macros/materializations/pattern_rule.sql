{#-- A pattern rule: the model is what stands behind the names in CREATE PATTERN RULE name ON rules. --#}

{% materialization pattern_rule, adapter='sqlext' %}
  {%- set rules = config.require('rules') -%}
  {%- set rules_table = rules if '.' in rules else this.schema ~ '.' ~ rules -%}

  {{ run_hooks(pre_hooks) }}

  {%- if not should_full_refresh() and is_current_rule(rules_table, this.identifier, compiled_code) -%}
    {%- call noop_statement('main', 'UNCHANGED', 'UNCHANGED') -%} {{ compiled_code }} {%- endcall -%}
  {%- else -%}
    {%- call statement('main') -%}
      create or replace pattern rule {{ adapter.quote(this.identifier) }} on {{ rules_table }} {{ compiled_code }}
    {%- endcall -%}
  {%- endif -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': []}) }}
{% endmaterialization %}


{#-- Is this the text of the rule's last version? Then there is nothing to do: each CREATE is another version. --#}
{% macro is_current_rule(rules_table, name, compiled_code) %}
  {%- set parts = rules_table.split('.') -%}
  {%- if adapter.get_relation(none, parts[-2], parts[-1]) is none -%}
    {{ return(false) }}
  {%- endif -%}
  {%- set rows = run_query(
    "select clause from " ~ rules_table ~ " where lower(name) = lower('" ~ name ~ "') order by version desc limit 1"
  ).rows -%}
  {{ return(rows | length > 0 and rows[0][0] is not none and compiled_code.rstrip(' \n;').endswith(rows[0][0])) }}
{% endmacro %}
