"""Reverse-mode differentiation of whole programs; the rules of single ops are in dialect/ops/gradients."""
