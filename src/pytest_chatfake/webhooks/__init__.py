"""How events reach the app: emitted, queued, attempted, retried, signed, lost, recorded."""
