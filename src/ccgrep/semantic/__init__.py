"""Text to vectors: the model, its encoders, and the stored vectors."""

ENVIRONMENT = {
    # Encoders run their own threads. BLAS threads spin while they wait, for seconds on a busy host.
    "OPENBLAS_NUM_THREADS": "1",
    # The default, set explicitly: otherwise tokenizers warns on stderr about every later fork.
    "TOKENIZERS_PARALLELISM": "true",
}
"""Environment variables to set before numpy is imported and an encoder is opened."""
