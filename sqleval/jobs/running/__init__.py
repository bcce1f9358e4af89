"""The run of a job: what is due, its evaluation, what is written and said."""
