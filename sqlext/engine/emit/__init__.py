"""The operator of EMIT: windows with triggers and evictors, in batch and on streams."""
