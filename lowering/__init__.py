"""How a specialised program becomes machine code. Free of MLIR and LLVM until `compiling.compile` or `artifacts.load` is imported."""
