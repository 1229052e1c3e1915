"""What a pass and a pipeline are, how they run, and the named pipelines."""
