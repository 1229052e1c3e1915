"""Decorated functions on Dask: see docs/processes.md. Dask is imported by what is called here."""

from tierup.tools.workers.dask import compiled, gradients, map_blocks, profile, train

__all__ = ["compiled", "gradients", "map_blocks", "profile", "train"]
