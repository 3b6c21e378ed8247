"""The matchers of whole partitions: the reference and the compiled ones that must equal it."""
