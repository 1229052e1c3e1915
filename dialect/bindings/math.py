"""No op classes: an op of the math dialect is a plain ir.OpView."""
