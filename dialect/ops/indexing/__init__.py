"""Ops that read and write at positions which tensors give."""
