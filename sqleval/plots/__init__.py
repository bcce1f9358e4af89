"""Charts of curves, confusion matrices and metrics by period."""
