"""Benchmarks, and the generator of the transcripts that they run on."""
