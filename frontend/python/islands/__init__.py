"""Functions that are translated in part: the rest stays the user's own Python."""
