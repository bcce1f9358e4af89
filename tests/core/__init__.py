"""Tests that need nothing but the extra `dev`."""
