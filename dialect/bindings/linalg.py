"""No op classes: an op of the linalg dialect is a plain ir.OpView."""
