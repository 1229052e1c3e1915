"""What Python's syntax tree says of a function: what statements are made of, which names they use, where control goes."""
