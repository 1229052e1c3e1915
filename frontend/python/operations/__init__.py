"""What values can do: numbers, arrays, their operators, reading and writing parts of them."""
