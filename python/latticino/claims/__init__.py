"""What is stated of values and errors: ranges, estimates, and measurements beside them."""
