"""People who act in time: scripts that are laid on the clock, and the autopilot."""
