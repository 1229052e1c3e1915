"""Guards, exits, continuations: what makes a bet safe to lose."""

CONTINUATION = "tierup.continuation"  # the unit attribute of the functions that tierup-build-bailout-continuations makes
