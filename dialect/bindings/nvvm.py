"""No op classes: an op of the nvvm dialect is a plain ir.OpView."""
