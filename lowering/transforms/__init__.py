"""Passes of the lowering, one per file."""
