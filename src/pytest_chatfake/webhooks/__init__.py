"""Events on their way: emitted, queued, attempted, tried again, signed, lost, and recorded."""
