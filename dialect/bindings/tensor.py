"""No op classes: an op of the tensor dialect is a plain ir.OpView."""
