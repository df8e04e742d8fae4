"""Shapes of providers to copy: what each one posts, how it signs, and how it takes a send call."""
