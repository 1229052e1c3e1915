"""Tier 0: a graph becomes Python source over the op table's kernels.

Import the modules by name: `translate` makes a `tier0.Tier0`, and only it needs MLIR.
"""
