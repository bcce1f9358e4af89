"""Charts of curves, confusion matrices, metrics by period, and mean ranks of models."""
