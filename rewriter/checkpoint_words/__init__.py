"""Which words and settings of a statement the checkpoint of a stream depends on."""
