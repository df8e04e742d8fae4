"""Tells a team by mail when a message fails, and when the money for messages runs low."""
