"""What WHY of all kinds of parts shares: the chosen rows, the search over a partition, the words for refusals."""
