"""tierup-opt: MLIR in, passes, MLIR out."""
