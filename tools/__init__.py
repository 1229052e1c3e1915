"""Command-line programs: `tierup-opt` (opt.py) and `tierup-run` (run.py). Nothing is imported here."""
