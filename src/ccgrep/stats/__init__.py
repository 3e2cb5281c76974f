"""Tallies of what the turns used, and reports on them."""
