"""Cases and data sets of ranking and recommendation."""

from tests.support.case import Case, Data

CASES: list[Case] = []
#: Data sets beside those that every kind has.
DATA: list[Data] = []
