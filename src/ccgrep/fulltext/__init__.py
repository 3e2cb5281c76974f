"""The full-text index: a Tantivy index derived from the store."""
