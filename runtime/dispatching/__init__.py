"""Which version a call runs: tables, guards, direct calls."""
