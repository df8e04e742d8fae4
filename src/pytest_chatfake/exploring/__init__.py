"""Explorations: an extra that runs one test body in many worlds, each with other deviations."""
