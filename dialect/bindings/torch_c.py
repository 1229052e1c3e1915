"""No op classes: an op of the torch_c dialect is a plain ir.OpView."""
