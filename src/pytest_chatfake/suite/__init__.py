"""What a run of pytest shows of its fakes: sections of failures, and cards."""
