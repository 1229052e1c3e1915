"""Views and movement of elements as loops, slices and reshapes: what `tierup-lower-movement` puts in place of torch ops."""
