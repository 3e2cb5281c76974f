"""What is printed: for people, for programs."""
