"""What passes build with and read by: arithmetic, loops, functions, names, places of ops."""
