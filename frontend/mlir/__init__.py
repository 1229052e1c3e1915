"""Programs in MLIR: files, and what their arguments may be."""
