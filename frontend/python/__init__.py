"""Python source -> torch dialect. `build.build` is the way in."""
