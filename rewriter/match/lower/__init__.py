"""From a parsed clause to its plan: names are bound and a TypeResolver returns types."""
