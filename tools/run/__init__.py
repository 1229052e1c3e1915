"""tierup-run: a program in MLIR on arrays given on the command line."""
