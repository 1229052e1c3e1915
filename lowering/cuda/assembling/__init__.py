"""From LLVM IR to PTX and machine code: LLVM, NVIDIA's assembler and its library of math."""
