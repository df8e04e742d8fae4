"""What a test holds: the fake, messages, conversations, the clock, webhooks, expectations."""
