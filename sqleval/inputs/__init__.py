"""What the rows are: a source, and the columns that play the roles."""
