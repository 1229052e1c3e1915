"""No op classes: an op of the llvm dialect is a plain ir.OpView."""
