"""Programs that are not native as a whole: tier 0 with native regions in it."""
