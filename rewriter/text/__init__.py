"""SQL text as tokens, with the place of every character in the text of the user."""
