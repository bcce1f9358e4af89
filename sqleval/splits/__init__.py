"""Splits: which rows train and which test."""
