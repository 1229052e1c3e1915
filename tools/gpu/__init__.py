"""Programs by which a GPU is checked and timed."""
