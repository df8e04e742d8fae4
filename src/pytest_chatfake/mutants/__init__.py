"""Mutants: an extra that checks whether your tests notice one false fact at a time."""
