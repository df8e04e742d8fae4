"""The engine brings time, rules and webhooks together; every change goes through it."""
