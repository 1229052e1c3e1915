"""What a call brings: trees, leaves, specs, hidden inputs."""
