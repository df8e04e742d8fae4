"""What every room may use: errors, checks of arguments, the calling line, triggers, views."""
