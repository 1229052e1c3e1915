"""No op classes: an op of the bufferization dialect is a plain ir.OpView."""
