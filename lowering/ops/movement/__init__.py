"""Views and movement of elements as loops, slices and reshapes."""
