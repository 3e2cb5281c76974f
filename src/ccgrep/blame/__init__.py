"""Finds the turns that changed a line of a file."""
