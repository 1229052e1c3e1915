"""From a request to an artifact: named pipelines, and the one driver that runs them."""
