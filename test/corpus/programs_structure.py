"""Trees of arguments and results, defaults and keywords, methods, arrays and numbers from outside, calls to other programs."""

import numpy as np
from corpus import Keywords, f32, f64, ints, part, program

WEIGHTS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
SCALE = 2.5
SETTINGS = {"rate": 0.5, "shift": np.arange(3, dtype=np.float32)}


@program(lambda r, n: ((f32(r, n), f32(r, n)),))
def tuple_in_tuple_out(pair):
    a, b = pair
    return b - a, (a, a * b)


@program(lambda r, n: ([f32(r, n, 3), f32(r, 3, 2)],), tolerance=64)  # means of what cancels
def list_of_weights(layers):
    x = layers[0]
    for w in layers[1:]:
        x = np.tanh(x @ w)
    return [x, x.sum()]


@program(lambda r, n: ({"w": f32(r, 3, 2), "b": f32(r, 2)}, f32(r, n, 3)))
def dict_of_parameters(parameters, x):
    y = x @ parameters["w"] + parameters["b"]
    return {"y": y, "mean": y.mean()}


@program(lambda r, n: (f32(r, n),), also=(lambda r, n: (f32(r, n), 3.0), lambda r, n: (f32(r, n), Keywords(shift=2, scale=0.5))))
def default_arguments(x, scale=2.0, shift=1):
    return x * scale + shift


@program(lambda r, n: (f32(r, n), Keywords(eps=1e-3)))
def keyword_only(x, *, eps=1e-5):
    return x / np.sqrt((x * x).mean() + eps)


class Layer:
    """An object whose arrays a method reads."""

    def __init__(self, rng, wide):
        self.w = f32(rng, 4, wide)
        self.b = f32(rng, wide)
        self.slope = 0.1


@program(lambda r, n: (Layer(r, 3), f32(r, n, 4)))
def method_with_weights(self, x):
    y = x @ self.w + self.b
    return np.where(y > 0, y, self.slope * y)


@program(lambda r, n: (f32(r, n, 4),))
def hidden_global_array(x):
    return x @ WEIGHTS * SCALE


@program(lambda r, n: (f32(r, n, 3),))
def hidden_settings(x):
    return x * SETTINGS["rate"] + SETTINGS["shift"]


def _closure(power):
    offset = np.full(3, float(power), np.float32)

    @program(lambda r, n: (f32(r, n, 3),))
    def closure_over_array(x):
        return x**power + offset

    return closure_over_array


_closure(2)


@part
def inner_norm(x, axis):
    return np.sqrt((x * x).sum(axis=axis, keepdims=True))


@program(lambda r, n: (f32(r, n, 3),), tolerance=32)
def calls_another_program(x):
    return x / inner_norm(x, 1), inner_norm(x, 0)


@program(lambda r, n: (f64(r, n), None), also=(lambda r, n: (f64(r, n), f64(r, n)),))
def optional_array(x, bias):
    return x * 2 if bias is None else x * 2 + bias


@program(lambda r, n: (f32(r, n), "relu"), also=(lambda r, n: (f32(r, n), "tanh"),), bad=(lambda r, n: (f32(r, n), "other"),))
def chosen_by_name(x, kind):
    if kind == "relu":
        return np.maximum(x, 0)
    if kind == "tanh":
        return np.tanh(x)
    raise ValueError("unknown activation")


@program(lambda r, n: (f32(r, n, 4),))
def sizes_as_results(x):
    return x.shape, x.shape[0] * 2, x.size, x.ndim, x / x.shape[0]


@program(lambda r, n: (3, 4.5, True), sizes=(4, 4, 4), native=("static",))
def scalars_only(i, x, flag):
    return i * 2 + 1, i / 2, x * i, i // 2, -x if flag else x, i > 2


@program(lambda r, n: (f32(r, n), ints(r, n)))
def comprehension(x, i):
    return [x * k for k in range(3)], tuple(i + k for k in (1, 2))


@program(lambda r, n: (f32(r, n), np.float32(1.5), np.int64(3)))
def numpy_scalars(x, a, k):
    return x * a + k, a * 2, k + 1
