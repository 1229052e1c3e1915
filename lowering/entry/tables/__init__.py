"""Dispatch tables: which versions they hold, in which order, and who lets go of them."""
