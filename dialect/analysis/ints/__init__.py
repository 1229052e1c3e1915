"""What is known of the ints of a program: what conditions say of them, and between which sizes they lie."""
