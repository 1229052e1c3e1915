"""PyTorch's programs, on PyTorch's tensors: public as `tierup.torch`, which imports PyTorch when something of it is first called."""
