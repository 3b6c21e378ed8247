"""What the rows so far decide, whatever comes."""
