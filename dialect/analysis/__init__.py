"""What holds of a program: aliases, effects, what may raise, what has native code."""
