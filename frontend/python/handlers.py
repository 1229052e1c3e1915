"""Importing this module registers the handlers of every function and method that programs may call."""

from tierup.frontend.python import (
    builtin_functions,
    gradients_of_tierup,
    numpy_elementwise,
    numpy_factories,
    numpy_finding,
    numpy_linalg,
    numpy_movement,
    numpy_reductions,
    numpy_shape,
    operators_of_tierup,
    operators_of_windows,
)

MODULES = (
    builtin_functions,
    gradients_of_tierup,
    numpy_elementwise,
    numpy_factories,
    numpy_finding,
    numpy_linalg,
    numpy_movement,
    numpy_reductions,
    numpy_shape,
    operators_of_tierup,
    operators_of_windows,
)
