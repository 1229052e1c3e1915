"""From TorchScript to the torch dialect: nodes, values, attributes of modules."""
