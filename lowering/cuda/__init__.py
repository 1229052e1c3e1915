"""Programs as GPU kernels: buffers -> gpu.launch -> NVVM -> PTX, and the host program that launches them. See docs/cuda.md."""
