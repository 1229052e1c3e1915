"""No op classes: an op of the memref dialect is a plain ir.OpView."""
