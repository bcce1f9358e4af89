"""Sources of rows: files, frames, tables of lakes, databases."""
