"""People who act in time: scheduled verbs, and the autopilot."""
