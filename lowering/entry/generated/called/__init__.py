"""Generated code that kernels call: for memory, to poll, to share loops among threads."""
