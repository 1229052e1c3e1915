"""No op classes: an op of the scf dialect is a plain ir.OpView."""
