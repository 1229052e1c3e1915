"""Guards, exits, continuations: what makes a bet safe to lose."""
