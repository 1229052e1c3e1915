"""When a compile runs: at once, in the background, or not yet again."""
