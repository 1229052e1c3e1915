"""Passes that only the pipelines of TorchScript's executors run, one per file."""
