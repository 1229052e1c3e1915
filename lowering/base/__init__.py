"""What everything here uses: the ABI, errors, LLVM, where faults are put in."""
