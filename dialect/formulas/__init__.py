"""Formulas by op name. See core.py for how one is written."""

from __future__ import annotations

from tierup.dialect.formulas import attention as attention
from tierup.dialect.formulas import classes as classes
from tierup.dialect.formulas import distances as distances
from tierup.dialect.formulas import elementwise as elementwise
from tierup.dialect.formulas import padding as padding
from tierup.dialect.formulas import pointwise as pointwise
from tierup.dialect.formulas import products as products
from tierup.dialect.formulas import rearranging as rearranging
from tierup.dialect.formulas import reductions as reductions
from tierup.dialect.formulas.core import FORMULAS as FORMULAS
