"""Gradient functions in a decorated function: `tierup.value_and_grad`, `tierup.grad`."""
