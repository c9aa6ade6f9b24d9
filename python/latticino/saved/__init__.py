"""Programs as data: functions of arrays that were captured, and compiled networks."""
