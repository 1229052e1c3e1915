"""Native bodies of ops, family by family."""
