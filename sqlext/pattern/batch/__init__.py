"""The engines that match whole partitions: the reference and the compiled matchers that must equal it."""
