"""Ops under NumPy's rules as torch ops with explicit casts."""
