"""What is measured, and how: see RESULTS.md and `make bench`."""
