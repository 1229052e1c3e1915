"""No op classes: an op of the builtin dialect is a plain ir.OpView."""
