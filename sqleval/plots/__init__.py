"""Tables of curves to pictures."""
