"""What was used, how often: tallies kept per turn, and reports on them."""
