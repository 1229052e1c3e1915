"""Arguments of programs whose types are their own, not those of what came: of a file of MLIR."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tierup.dialect.base.records import cached_property, dataclass
from tierup.runtime.interpreter.parameters import Parameter


@dataclass(frozen=True)
class Fitted:
    """Makes arguments, by name, what a program with these parameters takes."""

    parameters: Mapping[str, Parameter]

    def __call__(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """NumPy's numbers as Python's where the program takes a number. Raises TypeError for what is no array and no number."""
        of, arrays = self.parameters, self._arrays
        return {n: value if type(value) is np.ndarray and n in arrays else of[n].convert(value) for n, value in arguments.items()}

    @cached_property
    def _arrays(self) -> frozenset[str]:
        return frozenset(name for name, parameter in self.parameters.items() if parameter.kind.name not in ("list", "tuple"))
