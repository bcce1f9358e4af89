"""Where the results of jobs are kept."""
