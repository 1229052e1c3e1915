"""What the compiler gave, or why it gave nothing; and what is kept of a compile for who looks for a fault."""
