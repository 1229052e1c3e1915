"""No op classes: an op of the arith dialect is a plain ir.OpView."""
