"""No op classes: an op of the torch dialect is a plain ir.OpView."""
