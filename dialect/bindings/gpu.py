"""No op classes: an op of the gpu dialect is a plain ir.OpView."""
