"""Gradient pairs: the forward program with captures and its backward program."""
