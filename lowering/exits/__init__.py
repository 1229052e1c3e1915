"""How compiled code leaves: bailouts and the values that live across them."""
