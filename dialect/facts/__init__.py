"""What can be said of a value, free of MLIR: its type and sizes, and what runs have shown of it."""
