"""The engine: time, rules and webhooks brought together; every change goes through it."""
