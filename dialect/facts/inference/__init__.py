"""Types and sizes: what follows from the facts that a profile saw."""
