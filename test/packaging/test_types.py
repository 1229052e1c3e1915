"""`make lint` asks mypy about types; here stands what mypy does not ask: that who leaves an error standing says which, and why."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import tierup
from tierup.runtime.base.option_names import OptionChanges
from tierup.runtime.base.options import Options

ROOT = Path(tierup.__path__[0])
SAID = re.compile(r"# type: ignore\[[a-z, -]+\]  # \S")


def test_each_type_error_that_is_left_standing_is_named_and_explained() -> None:
    files = [path for folder in ("dialect", "lowering", "runtime", "frontend", "tools") for path in (ROOT / folder).rglob("*.py")]
    left = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "type: ignore" in line and not SAID.search(line)
    ]
    assert len(files) > 500
    assert not left, "write `# type: ignore[code]  # why`"


def test_type_checkers_know_each_option() -> None:
    known, options = get_type_hints(OptionChanges), {field.name: field for field in fields(Options)}
    assert set(known) == set(options)
    for name, type_ in known.items():
        choices = options[name].metadata.get("choices")
        if get_origin(type_) is Literal:
            assert get_args(type_) == choices
        else:
            assert choices is None and (name == "fusion_strategy" or type_ is type(options[name].default))


def test_mypy_finds_calls_that_are_wrong_and_no_others(tmp_path: Path) -> None:
    """`make lint` asks the same with all of the package; here only what a caller sees is read."""
    api = pytest.importorskip("mypy.api")
    read = ("tierup", *(f"tierup.{n}" for n in ("frontend.jit", "frontend.gradients", "runtime.functions.function", "runtime.base.options",
            "runtime.base.option_names")))  # fmt: skip
    config = tmp_path / "mypy.ini"
    config.write_text(
        "[mypy]\nstrict = true\nfollow_imports = silent\n[mypy-tierup.*]\nfollow_imports = skip\n[mypy-numpy.*]\nfollow_imports = skip\n"
        + "".join(f"[mypy-{name}]\nfollow_imports = silent\n" for name in read)
    )
    used = Path(__file__).with_name("typed_use.py")
    said, errors, status = api.run(["--config-file", str(config), "--cache-dir", str(tmp_path), str(used)])
    assert (status, errors) == (0, ""), said
    used_wrongly = tmp_path / "program.py"
    used_wrongly.write_text(used.read_text().replace('scaled("oops", nosuch=3)  # type: ignore[arg-type, call-arg]', 'scaled("oops", nosuch=3)'))
    said, _, status = api.run(["--config-file", str(config), "--cache-dir", str(tmp_path), str(used_wrongly)])
    assert status == 1 and 'Unexpected keyword argument "nosuch" for "__call__" of "Function"' in said and "[arg-type]" in said
