"""Why a call did what it did: plans, history, counters, dumps."""
