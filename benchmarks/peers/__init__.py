"""tierup beside other systems, one program a row: `python -m benchmarks.peers --help`, or `make bench-peers`."""
