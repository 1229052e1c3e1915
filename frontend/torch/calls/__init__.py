"""What a call with PyTorch's tensors is beside its program: gradients, memory that is shared, traces, transforms."""
