"""What happened, told to a person: stories of messages, and what a test left behind."""
