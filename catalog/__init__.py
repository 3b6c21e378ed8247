"""Delta tables by name and path, and the extended views that are stored in one of them."""
