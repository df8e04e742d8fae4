"""What a run of pytest shows on request, in files and on the terminal: an extra."""
