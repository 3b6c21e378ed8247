"""What all kinds of parts share: the result of planning, and what a checkpoint holds of a clause."""
