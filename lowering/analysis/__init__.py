"""What is asked of a program before it is changed: what it is compiled for, what shares memory, who owns results, how they lie."""
