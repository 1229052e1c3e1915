"""What building a graph works with: the source and its tree, names, values, ops, regions."""
