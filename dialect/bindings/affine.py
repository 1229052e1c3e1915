"""No op classes: an op of the affine dialect is a plain ir.OpView."""
