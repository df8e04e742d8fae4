"""What a run of pytest shows of its fakes: sections of failures, pages, what was never tried."""
