"""Whole applications, written with the public API only."""
