"""Versions that a program came with, in a plan: code that needs no compiler."""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.lowering.base.abi import ArgumentSpec, Artifact, Request
from tierup.runtime.programs.speculations import Speculation


@dataclass(frozen=True)
class GivenVersion:
    """Code for calls that keep the guards `specs`, and what it was made of."""

    speculation: Speculation
    specs: tuple[ArgumentSpec, ...]
    request: Request
    artifact: Artifact


@dataclass(frozen=True)
class Given:
    """`learns`: whether versions are made for calls that none of these fits; `origin`: what it is of, in words."""

    versions: tuple[GivenVersion, ...]
    learns: bool
    origin: str

    def of(self, specs: tuple[ArgumentSpec, ...]) -> GivenVersion | None:
        """The version with these guards."""
        return next((version for version in self.versions if version.specs == specs), None)
