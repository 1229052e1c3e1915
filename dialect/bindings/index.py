"""No op classes: an op of the index dialect is a plain ir.OpView."""
