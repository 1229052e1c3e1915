"""Host programs: the interpreter, flat programs and graphs, what they hand over."""
