"""Ranges, expected errors, and measured errors to compare them with."""
