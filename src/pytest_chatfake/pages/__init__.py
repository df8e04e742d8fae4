"""Pages: an extra that shows a pytest run in files, and what its tests never tried."""
