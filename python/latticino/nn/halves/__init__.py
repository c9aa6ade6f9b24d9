"""Runs of several images with half of them in the imaginary parts of slots."""
