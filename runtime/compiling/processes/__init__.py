"""Where a compile runs: in this process, or in a worker."""
