"""MATCH_RECOGNIZE on streams: a stateful operator, its state, tables that streams write."""
