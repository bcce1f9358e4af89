"""Model selection: metrics over folds, bootstrap estimates, choice of a configuration."""
