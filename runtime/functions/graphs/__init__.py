"""Graphs of a function: what a front end builds for one structure of a call, which ones there are, and how calls map to them."""
