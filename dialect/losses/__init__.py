"""Losses by op name. See core.py for how one is written."""

from __future__ import annotations

from tierup.dialect.losses import classes as classes
from tierup.dialect.losses import elementwise as elementwise
from tierup.dialect.losses.core import LOSSES as LOSSES
