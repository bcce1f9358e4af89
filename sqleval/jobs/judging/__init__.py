"""The judgement of a job: gates, checks against the past, incidents."""
