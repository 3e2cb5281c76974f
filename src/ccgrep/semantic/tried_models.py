"""The models that were measured: short names, prompts that their configuration lacks, scores.

docs/relevance.md says how the scores were measured. None of the models is downloaded without
`ccgrep model pull`.
"""

from typing import NamedTuple


class TriedModel(NamedTuple):
    """A measured model. The names are keys of the JSON output of `ccgrep model list`.

    Shares are percentages of 997 questions about five LoCoMo conversations: the session was first,
    and within the first five.
    """

    short_name: str
    name: str
    download_mb: int
    hybrid_first: float
    hybrid_within_five: float
    semantic_first: float
    semantic_within_five: float
    query_prompt: str = ""
    prompt: str = ""


TRIED_MODELS = (
    TriedModel("minilm", "sentence-transformers/all-MiniLM-L6-v2", 91, 77.3, 94.1, 60.0, 85.6),
    TriedModel(
        "arctic",
        "Snowflake/snowflake-arctic-embed-s",
        134,
        *(78.5, 95.0, 67.1, 90.3),
        query_prompt="Represent this sentence for searching relevant passages: ",
    ),
    TriedModel(
        "e5",
        "intfloat/e5-small",
        134,
        *(79.3, 94.7, 71.2, 92.1),
        query_prompt="query: ",
        prompt="passage: ",
    ),
)

_BY_SHORT_NAME = {model.short_name: model.name for model in TRIED_MODELS}
_PROMPTS = {model.name: (model.query_prompt, model.prompt) for model in TRIED_MODELS}


def full_name(name: str) -> str:
    """Return the name that a short name stands for, or the name itself."""
    return _BY_SHORT_NAME.get(name, name)


def known_prompts(name: str) -> tuple[str, str]:
    """Return what a model expects before a query and before a text, empty if it is unknown."""
    return _PROMPTS.get(name, ("", ""))
