"""No op classes: an op of the func dialect is a plain ir.OpView."""
