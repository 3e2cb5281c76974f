"""Text to vectors: which model, and its encoders. Knows neither store nor search."""

ENVIRONMENT = {
    # Encoders have their own threads; BLAS's wait in a loop, and on a busy computer for seconds.
    "OPENBLAS_NUM_THREADS": "1",
    # The default, but said aloud: otherwise every later fork is warned of on stderr.
    "TOKENIZERS_PARALLELISM": "true",
}
"""What whoever owns the process should set before an encoder is made, and numpy imported."""
