"""Matrix products as kernels: which op is one, which kernel computes it, its tiles."""
