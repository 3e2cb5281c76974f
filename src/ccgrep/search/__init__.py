"""Search: from a request to ranked hits, by words, by exact patterns or semantically."""
