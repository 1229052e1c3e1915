"""A program as executors take it: with what belongs to it, which speculation is next, and how results reach the user."""
