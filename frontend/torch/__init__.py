"""PyTorch's programs, on PyTorch's tensors. PyTorch is imported when something here is first called."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tierup.frontend.torch.errors import UnsupportedProgram as UnsupportedProgram
    from tierup.frontend.torch.function import TorchFunction as TorchFunction
    from tierup.frontend.torch.torchscript import from_torchscript as from_torchscript

_EXPORTS = {
    "TorchFunction": "tierup.frontend.torch.function",
    "UnsupportedProgram": "tierup.frontend.torch.errors",
    "from_torchscript": "tierup.frontend.torch.torchscript",
}

__all__ = ["TorchFunction", "UnsupportedProgram", "from_torchscript"]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
