"""The passes of the CUDA lowering: one file each. `../pipelines.py` has their order."""
