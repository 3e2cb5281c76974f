"""Blame: finds the turns that read or changed a file, and the turn that wrote a line."""
