"""Contexts in which programs parse, and programs read in them."""
