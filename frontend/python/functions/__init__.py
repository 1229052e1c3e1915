"""The functions that a decorated function may call: NumPy's, Python's, tierup's."""
