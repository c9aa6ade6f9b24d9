"""Networks that end with a comparison: labels by argmax, thresholds, signs."""
