"""What every room may use: errors, argument checks, the calling line, faults, views."""
