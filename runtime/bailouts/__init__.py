"""Assumptions in mid-program, and where a run goes on when one fails."""
