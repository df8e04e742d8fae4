"""What goes over the wire: bodies of events and answers, exact numbers, and their models."""
