"""From graphs of torch.fx to the torch dialect: of torch.export and of torch.compile."""
