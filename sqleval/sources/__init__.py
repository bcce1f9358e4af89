"""Where rows come from: files, frames, tables of lakes, databases."""
