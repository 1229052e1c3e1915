"""Arrays on the device, and how they are exchanged with other libraries."""
