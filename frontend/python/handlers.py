"""Importing this module registers the handlers of every function and method that programs may call."""

from tierup.frontend.python.functions import builtins as builtin_functions
from tierup.frontend.python.functions import (
    numpy_elementwise,
    numpy_factories,
    numpy_finding,
    numpy_linalg,
    numpy_movement,
    numpy_reductions,
    numpy_shape,
)
from tierup.frontend.python.functions import tierup_gradients as gradients_of_tierup
from tierup.frontend.python.functions import tierup_operators as operators_of_tierup

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
)
