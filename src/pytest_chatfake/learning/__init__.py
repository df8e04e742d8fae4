"""From recorded events to a configuration: an extra, which no other room imports."""
