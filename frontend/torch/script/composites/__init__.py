"""Ops of PyTorch's that stand for whole layers, as the ops that these are made of."""
