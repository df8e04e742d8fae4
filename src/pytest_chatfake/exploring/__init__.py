"""Explorations: one test body in many worlds, each with other deviations."""
