"""The dispatcher's code: what CPython calls, written with llvmlite."""
