"""Products of two encrypted matrices in networks: how their values are packed, and the maps that bring them into this
packing."""
