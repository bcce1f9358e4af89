"""Model selection: metrics over folds, bootstrap estimates, the choice of a configuration."""
