"""Math functions in `arith`: range reduction and polynomials that LLVM's loop vectoriser turns into full-width code.

One file per family; `table.py` says which function builds which `math` op. docs/math-accuracy.md has the measured errors.
"""
