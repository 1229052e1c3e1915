"""Measurements of tierup against NumPy. `python -m benchmarks` runs the table; the other files are run by themselves."""
