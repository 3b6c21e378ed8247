"""Delta tables by name and path, and the extended views kept in one of them."""
