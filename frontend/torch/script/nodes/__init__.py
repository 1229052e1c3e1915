"""What TorchScript's nodes are in the torch dialect, kind by kind."""
