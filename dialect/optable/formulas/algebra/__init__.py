"""Products of matrices with more to them, and linear algebra."""
