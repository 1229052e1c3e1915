"""Kernels that were compiled: as bytes, on disk, loaded."""
