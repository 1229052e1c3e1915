"""Reading and changing MLIR: types, values, regions, rewriting."""
