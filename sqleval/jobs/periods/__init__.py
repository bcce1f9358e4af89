"""The periods of a job: which files hold their rows, and which of them changed."""
