"""No op classes: an op of the vector dialect is a plain ir.OpView."""
