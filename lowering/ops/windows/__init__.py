"""Ops that slide windows: convolution and pooling."""
