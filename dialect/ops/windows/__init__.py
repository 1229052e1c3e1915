"""Ops that look at windows: convolution, pooling, resizing."""
