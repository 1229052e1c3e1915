"""What torch.jit.save wrote, for tierup-run: a program whose arguments and results are arrays."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from tierup.dialect.optable.kernels import torch_tensors
from tierup.frontend.errors import ProgramError

SCRIPTED = (".pt", ".pth")


class Scripted:
    """A method of the module in a file. Gradients are not asked for. All else that a function has (`explain()`, ...) is here too."""

    def __init__(self, path: str, entry: str | None, texts: Sequence[str], options: Mapping[str, Any]) -> None:
        """`texts`: of the arguments; those with a default are left out where no text gives them by name. Raises ProgramError for a file
        that PyTorch does not load, and where PyTorch is not installed."""
        try:
            import torch  # here: an optional package

            from tierup.frontend.torch.torchscript import from_torchscript

            module = torch.jit.load(path, map_location="cpu")
        except (ImportError, RuntimeError, ValueError) as e:
            raise ProgramError(f"{path} is not loaded: {e}") from e
        self._function: Any = from_torchscript(module, method=entry or "forward", **options)
        self._without_gradients = torch.no_grad
        given = {text.partition("=")[0] for text in texts}
        first = getattr(self._function, "functions", (self._function,))[0]  # of several signatures, which name the same arguments
        parameters = first.__signature__.parameters.values()
        self.names = [p.name for p in parameters if p.default is inspect.Parameter.empty or p.name in given]

    def __call__(self, *values: Any) -> Any:
        """The result, for the arguments of `names`."""
        with self._without_gradients():
            given = torch_tensors.to_tensors(dict(zip(self.names, values, strict=True)))
            return torch_tensors.to_arrays(self._function(**given))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)
