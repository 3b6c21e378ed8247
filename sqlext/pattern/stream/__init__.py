"""What the rows so far decide, whatever rows follow."""
