"""Decorated functions on Ray: see docs/processes.md. Ray is imported by what is called here."""

from tierup.tools.workers.ray import gradients, map_batches, map_blocks, profile, train

__all__ = ["gradients", "map_batches", "map_blocks", "profile", "train"]
