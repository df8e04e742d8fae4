"""What every room may use: errors, argument checks, the calling line, triggers, views."""
