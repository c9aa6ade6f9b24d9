"""Bodies of HTTP requests: their limits, their bytes on the way, and the document that describes them."""
