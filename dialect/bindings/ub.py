"""No op classes: an op of the ub dialect is a plain ir.OpView."""
