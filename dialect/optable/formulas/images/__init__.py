"""Formulas of what is done to images: padded, resized, cut in patches, sampled."""
