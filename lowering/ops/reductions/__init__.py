"""Reductions and normalisations as loops."""
