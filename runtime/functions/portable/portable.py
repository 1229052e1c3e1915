"""What users call to take what is known of a function to other processes."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex

from tierup.runtime.arguments.call_profiles import merge_profiles
from tierup.runtime.functions.report import Report

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Mapping
    from os import PathLike
    from typing import Self

    from tierup.runtime.arguments.binding import Binding
    from tierup.runtime.arguments.fitted import Fitted
    from tierup.runtime.arguments.trees import CallShape
    from tierup.runtime.base.options import Options
    from tierup.runtime.functions.elsewhere import Elsewhere
    from tierup.runtime.functions.graphs.variant import Variant


class Portable(Report):
    """This part of a function."""

    graph_for: Callable[[Mapping[str, Any]], tuple[Variant, tuple[Any, ...]]]
    fitted: Fitted | None  # makes bound arguments what the graph takes
    _binding: Binding
    _in_parts: Elsewhere | None
    is_remade = True  # by value it is pickled as what it was made of: `pickling.py`
    remade: tuple[Callable[[], Any], Callable[..., None], Any] | None = None  # makes an empty one; fills it; of this
    _expected = ""  # the profile of the function that it was pickled as

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickled by its name in its module, as plain Python functions are; where it has none, by value."""
        from tierup.runtime.functions.portable import pickling  # here: few programs pickle

        return pickling.reduced(self, int(protocol))

    @cached_property
    def known_in_main(self) -> Any:
        """What stands for it in pickles, where it is a script's: `pickling.py`."""
        from tierup.runtime.functions.portable import pickling  # here: as above

        return pickling.known_in_main(self)

    def __dask_tokenize__(self) -> Any:
        """What Dask knows it by: not by its pickle, which says what calls it had."""
        from dask.base import normalize_token  # here: Dask asks

        made_of = None if self.remade is None else self.remade[2]
        of_gradients = [repr(getattr(made_of, name, None)) for name in ("argnums", "is_tuple", "has_aux", "with_value")]
        options = repr(sorted(self.own_options.items()))
        return normalize_token(("tierup", getattr(made_of, "function", made_of), self.__name__, of_gradients, options))

    def __copy__(self) -> Self:
        return self  # as plain Python functions

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def expect(self, profile: str) -> None:
        """Have versions made for calls of the kinds in a profile, those of a structure when the first call of that comes."""
        self._expected = profile

    def _warm_as_expected(self, shape: CallShape) -> None:
        """There is a graph for calls of this structure."""
        if self._expected:
            from tierup.runtime.functions.portable import warming  # here: few functions come from other processes

            warming.warm_structure(self, shape, self._expected)

    def structure_of(self, arguments: Mapping[str, Any]) -> CallShape:
        """Of a call, whose arguments are given by the names of all parameters."""
        return self.graphs.structures.of(dict(arguments) if self.fitted is None else self.fitted(arguments))[0]

    @property
    def options(self) -> Options:
        """Those in force now."""
        return self._overrides.current()

    @property
    def signature_now(self) -> inspect.Signature:
        """Its parameters, with the defaults of now."""
        return self._binding.renewed().known[0]

    @property
    def takes_whole_lists(self) -> bool:
        """Whether lists of numbers are arrays, where there is a graph for them."""
        return self.graphs.structures.whole_lists

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(self.signature_now.parameters)

    @property
    def answered_elsewhere(self) -> list[str]:
        """What only Python answers of its calls, or of parts of them, in words; not what it answers since it is quicker."""
        is_quicker = getattr(self.elsewhere, "compared", None) is not None and self._in_parts is None
        return [] if is_quicker else self._islands()

    @property
    def options_to_save(self) -> dict[str, Any]:
        """Those in force now that are not as by default."""
        now = self._overrides.current()
        return {f.name: getattr(now, f.name) for f in fields(now) if getattr(now, f.name) != f.default}

    def profile(self) -> str:
        """What its calls looked like, as JSON (docs/profiles.md): for `warm`, `tierup.merge_profiles` and files. Of a function that is
        translated in part it is empty, and of one whose records were released. Of one that was unpickled also what was known then."""
        from tierup.runtime.functions.portable import warming  # here: few programs ask

        own = warming.profile(self)
        return merge_profiles(own, self._expected) if self._expected else own

    def warm(self, profile: str) -> int:
        """Have the versions made that calls of the kinds in a profile would get, in the background, before there is a call; how many are
        made, or on their way. `wait` waits for them. The graphs are built here and now; nothing of the program is run.

        Raises ValueError for a text that is no profile, or one of other parameters; UnsupportedSyntax under `strict`.
        """
        from tierup.runtime.functions.portable import warming  # here: few programs ask

        return warming.warm(self, profile)

    def save(self, path: str | PathLike[str], *, key: bytes | None = None, target: str = "") -> None:
        """Write what the function has become as a plan (docs/bundles.md): a file that `tierup.load_plan` makes a function of in processes
        without its source and without a compiler. `key` signs it; `target`, a level as "x86-64-v3", is the CPU that its code is for, else
        this one. What is being compiled is waited for.

        Raises ValueError where it cannot be saved, saying why and what to do; OSError.
        """
        from tierup.runtime.functions.portable import saving  # here: few programs ask

        saving.save(self, path, key, target)
