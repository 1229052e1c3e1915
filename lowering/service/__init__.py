"""Compiling in another process."""
