"""Pattern rules: the statements about them."""
