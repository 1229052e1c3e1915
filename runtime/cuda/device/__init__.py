"""The device: NVIDIA's driver, memory, cuBLAS."""
