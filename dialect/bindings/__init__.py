"""Stand-ins for the bindings' generated op classes, found before them: see dialect/mlir.py."""
