"""A team's history on PostgreSQL: push turns to it, and search it like a store."""
