"""What happened, kept for people: counts, events, what ran last."""
