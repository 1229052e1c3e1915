"""How a program comes in: Python source, MLIR text or bytecode, PyTorch's programs."""
