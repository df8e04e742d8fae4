"""Learning: an extra that derives a configuration from recorded events."""
