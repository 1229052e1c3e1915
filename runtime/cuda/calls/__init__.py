"""Calls of programs for a device: where arrays lie, what moves, and which version or split takes them."""
