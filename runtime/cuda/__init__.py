"""Running kernels on NVIDIA's driver: memory, host programs, plans, bundles. Free of MLIR and LLVM. See docs/cuda.md."""
