"""What views, stored and temporary ones, read and mean, and which of them a session has."""
