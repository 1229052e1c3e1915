"""Ops on numbers and lists, on what is asked of tensors, and tensors made of numbers."""
