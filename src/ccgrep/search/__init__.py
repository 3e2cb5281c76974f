"""From what was typed to ranked hits."""
