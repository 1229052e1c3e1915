"""What everything here uses: options, events, errors, and what the parts know of one another."""
