"""Gathers and scatters as loops: what `tierup-lower-indexing` puts in place of torch ops."""
