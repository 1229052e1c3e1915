"""What everything here uses, and MLIR-free: element types, locks, quick dataclasses, spelling, switches."""
