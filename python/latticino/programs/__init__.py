"""Work with whole programs: recording, choosing a preset, profiling."""
