"""Matrix products: as linalg's contractions, and kernels for those that BLAS is slow at."""
