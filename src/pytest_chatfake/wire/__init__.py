"""What goes over the wire: bodies of events and responses, exact JSON, names, models."""
