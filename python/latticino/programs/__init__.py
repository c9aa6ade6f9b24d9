"""Functions that work on whole programs: recording, choosing a preset, profiling."""
