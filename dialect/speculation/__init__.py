"""Guards, exits, continuations: what makes an assumption safe to lose."""

CONTINUATION = "tierup.continuation"  # the unit attribute of the functions that tierup-build-bailout-continuations makes
