"""The engine: time, rules and webhooks brought together; the one place where things happen."""
