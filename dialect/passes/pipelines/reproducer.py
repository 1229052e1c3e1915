"""Reproducers: a module and what to do with it to see a compiler's failure again, in one file.

The form is MLIR's own (https://mlir.llvm.org/docs/PassManagement/#crash-and-failure-reproduction): the module, and behind it a
section of resources that says the pipeline. MLIR's bindings do not read such resources, so the section is read here; a file of
`mlir-opt`'s is understood as well. Ours may hold a `request` in place of a pipeline: a whole compile (`lowering/service/request_json.py`).

Free of MLIR.
"""

from __future__ import annotations

import re

from tierup.dialect.base.records import dataclass

_OPEN, _CLOSE = "{-#", "#-}"
_FIELD = re.compile(r'(?P<key>[a-z_]+)\s*:\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<flag>true|false))')


@dataclass(frozen=True)
class Reproducer:
    """`module`: MLIR text. One of `pipeline` (as `tierup-opt --pass-pipeline` takes it) and `request` (JSON) is not empty.

    `error`: what was said when it was written, for people; it stands in comments above the module.
    """

    module: str
    pipeline: str = ""
    request: str = ""
    verify_each: bool = True
    error: str = ""

    def __str__(self) -> str:
        """The file's text."""
        said = "".join(f"// {line}\n" for line in self.error.splitlines())
        fields = [
            *([f'request: "{_escape(self.request)}"'] if self.request else [f'pipeline: "{_escape(self.pipeline)}"']),
            "disable_threading: true",
            f"verify_each: {str(self.verify_each).lower()}",
        ]
        inside = ",\n      ".join(fields)
        section = f"{_OPEN}\n  external_resources: {{\n    mlir_reproducer: {{\n      {inside}\n    }}\n  }}\n{_CLOSE}\n"
        return f"{said}{self.module.rstrip()}\n\n{section}"


def read(text: str) -> Reproducer | None:
    """The reproducer that a file's text is; None when it says nothing of what to run."""
    at = text.rfind("\n" + _OPEN)
    end = text.rfind(_CLOSE)
    if at < 0 or end < at or "mlir_reproducer" not in text[at:end]:
        return None
    _, _, section = text[at:end].partition("mlir_reproducer")
    found = {m["key"]: m["flag"] or _unescape(m["text"]) for m in _FIELD.finditer(section)}
    if not found.get("pipeline") and not found.get("request"):
        return None
    return Reproducer(
        text[:at] + "\n", found.get("pipeline", ""), found.get("request", ""), verify_each=found.get("verify_each") != "false"
    )


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)
