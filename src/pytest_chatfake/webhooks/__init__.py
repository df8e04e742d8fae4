"""Webhooks (§4.2, §6): what is emitted, what is attempted, and where an attempt goes."""
