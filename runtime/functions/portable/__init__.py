"""What of a function goes to other processes: profiles of its calls, and plans."""
