"""Lists that come in: as arrays of their numbers, which programs may write, or item by item."""
