"""Programs without writes: views and in-place ops as values."""
