"""What is said of a PyTorch program that is not taken."""

from __future__ import annotations


class UnsupportedProgram(TypeError):
    """A TorchScript or FX program with a construct, a type or an op that is not translated. The message names the user's line."""
