"""The page: all that is known of functions in one file of HTML, which needs no network."""
