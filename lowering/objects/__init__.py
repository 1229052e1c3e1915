"""Machine code as objects: in memory, on disk, under a profiler's eye."""
