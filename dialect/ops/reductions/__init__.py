"""Ops along dims: reductions, scans, norms, orders."""
