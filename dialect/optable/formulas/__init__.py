"""Formulas by op name. See core.py for how one is written."""

from __future__ import annotations

from tierup.dialect.optable.formulas import attention as attention
from tierup.dialect.optable.formulas import classes as classes
from tierup.dialect.optable.formulas import distances as distances
from tierup.dialect.optable.formulas import elementwise as elementwise
from tierup.dialect.optable.formulas import ordering as ordering
from tierup.dialect.optable.formulas import picking as picking
from tierup.dialect.optable.formulas import pointwise as pointwise
from tierup.dialect.optable.formulas import rearranging as rearranging
from tierup.dialect.optable.formulas import reductions as reductions
from tierup.dialect.optable.formulas.algebra import matrices as matrices
from tierup.dialect.optable.formulas.algebra import products as products
from tierup.dialect.optable.formulas.core import FORMULAS as FORMULAS
from tierup.dialect.optable.formulas.images import padding as padding
from tierup.dialect.optable.formulas.images import patches as patches
from tierup.dialect.optable.formulas.images import resizing as resizing
from tierup.dialect.optable.formulas.images import sampling as sampling
