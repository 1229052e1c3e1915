"""Views, and ops that move elements."""
