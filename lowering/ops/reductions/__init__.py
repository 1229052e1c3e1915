"""Reductions and normalisations as loops: what `tierup-lower-reductions` puts in place of torch ops."""
