"""Faults on purpose, for tests."""
