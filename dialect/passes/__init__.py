"""What a pass is, how it registers, and how it says what is wrong."""
