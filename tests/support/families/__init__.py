"""Cases and data sets of families of metrics, a module each."""

from . import calibration, many_labels, ranking, regression, row_losses, several_classes

FAMILIES = (regression, row_losses, ranking, several_classes, many_labels, calibration)
