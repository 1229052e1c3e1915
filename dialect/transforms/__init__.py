"""One pass per file, the file named after its flag: tierup-verify-graph is verify_graph.py."""
