"""Reads the files of a table in the task that matches or joins their rows, with the threads of all cores."""
