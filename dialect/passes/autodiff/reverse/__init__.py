"""Gradients of a block's values, backwards: of ops, branches, loops and lists."""
