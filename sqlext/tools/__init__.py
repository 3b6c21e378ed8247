"""The commands for people who write SQL in files and at a prompt: check, format, shell."""
