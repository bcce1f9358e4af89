"""Finds the files that hold the rows of each period, and the periods whose data changed."""
