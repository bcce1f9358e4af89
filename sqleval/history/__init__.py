"""The results of jobs: the stores that keep them, and how they are read."""
