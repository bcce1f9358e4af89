"""The properties of metrics and curves, and their check on made rows."""
