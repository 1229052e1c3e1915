"""The passes of lowering, one per file, the file named after its flag."""
