"""Saved programs: functions of arrays that were captured, and compiled networks."""
