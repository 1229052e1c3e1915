"""Changing a program: rules for single ops, regions, loops, and ops whose values are known."""
