"""Gathers and scatters as loops."""
