"""Ops that compute element by element: formulas, and what they are written with."""
