"""Graphs that outlive the process: what they were made of, and how one is found again."""
