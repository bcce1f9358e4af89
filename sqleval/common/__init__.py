"""Ground that knows nothing of metrics: names, SQL text, columns, periods, files, imports."""
