"""tierup-reduce: a program that shows a fault, made as small as it can be."""
