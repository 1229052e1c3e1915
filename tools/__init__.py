"""Command-line programs: `tierup-opt` (opt), `tierup-run` (run), `tierup-reduce` (reduce), `tierup-compile`. Nothing is imported here."""
