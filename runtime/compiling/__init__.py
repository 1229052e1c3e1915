"""From a speculation to a version: what is asked of the compiler, at once or in the background."""
