"""Measurements, and the synthetic transcripts that they are made on."""
