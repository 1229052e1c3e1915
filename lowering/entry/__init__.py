"""The native entry: dispatch tables whose guards and results are generated code."""
