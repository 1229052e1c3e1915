"""No op classes: an op of the tierup dialect is a plain ir.OpView."""
