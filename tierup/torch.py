"""PyTorch's programs in tierup, on PyTorch's tensors. PyTorch is imported when something here is first called.

    ours = torch.compile(model, backend="tierup")
    ours = tierup.torch.from_export(torch.export.export(model, arguments))
    ours = tierup.torch.from_torchscript(torch.jit.script(model))
    tierup.torch.install()  # all scripted and traced programs of the process
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tierup.frontend.torch.errors import UnsupportedProgram as UnsupportedProgram
    from tierup.frontend.torch.function import TorchFunction as TorchFunction
    from tierup.frontend.torch.fx.dynamo import CompiledGraph as CompiledGraph
    from tierup.frontend.torch.fx.dynamo import FallbackWarning as FallbackWarning
    from tierup.frontend.torch.fx.dynamo import backend as backend
    from tierup.frontend.torch.fx.dynamo import compiled_graphs as compiled_graphs
    from tierup.frontend.torch.fx.exported import from_export as from_export
    from tierup.frontend.torch.installed import install as install
    from tierup.frontend.torch.installed import uninstall as uninstall
    from tierup.frontend.torch.torchscript import from_torchscript as from_torchscript

# public name -> the module that has it
_EXPORTS = {
    "CompiledGraph": "tierup.frontend.torch.fx.dynamo",
    "FallbackWarning": "tierup.frontend.torch.fx.dynamo",
    "TorchFunction": "tierup.frontend.torch.function",
    "UnsupportedProgram": "tierup.frontend.torch.errors",
    "backend": "tierup.frontend.torch.fx.dynamo",
    "compiled_graphs": "tierup.frontend.torch.fx.dynamo",
    "from_export": "tierup.frontend.torch.fx.exported",
    "from_torchscript": "tierup.frontend.torch.torchscript",
    "install": "tierup.frontend.torch.installed",
    "uninstall": "tierup.frontend.torch.installed",
}

__all__ = list(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value  # the next use does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
