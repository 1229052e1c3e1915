"""Functions that kernels call: BLAS, memory, polls."""
