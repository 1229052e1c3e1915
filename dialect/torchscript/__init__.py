"""TorchScript's executors, pass by pass: what no default compile runs, so a newcomer may leave this folder closed."""
