"""Reports for people: timelines, explanations, and what a test left behind."""
