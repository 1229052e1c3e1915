"""Python's expressions and statements."""
