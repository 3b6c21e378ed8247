"""Windows with triggers and evictors: EMIT, in batch and on streams."""
