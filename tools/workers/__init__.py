"""Decorated functions on many machines: `tierup.dask`, `tierup.ray`. The engines are those that exist; what is here is thin."""
