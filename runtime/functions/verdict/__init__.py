"""Why a function is slow, and what to do: causes with their time, the line and the remedy."""
