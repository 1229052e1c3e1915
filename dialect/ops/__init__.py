"""The ops, a family a file; `optable.table()` gathers them."""
