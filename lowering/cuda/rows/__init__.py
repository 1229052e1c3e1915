"""Rows and reductions as kernels: the threads of a block at work together."""
