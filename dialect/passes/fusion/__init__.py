"""Which ops go together, and building the groups."""
