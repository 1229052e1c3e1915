"""No op classes: an op of the cf dialect is a plain ir.OpView."""
