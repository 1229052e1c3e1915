"""NumPy's ops in terms of the torch dialect."""
