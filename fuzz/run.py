"""Fuzzes one target with atheris: `python -m fuzz.run TARGET CORPUS [LIBFUZZER OPTION...]`.

The directory CORPUS keeps inputs that cover new code from run to run. Failing inputs are written
to `fuzz/found/TARGET`.
"""

import hashlib
import sys
from pathlib import Path

import atheris  # scripts/fuzz installs it

with atheris.instrument_imports(include=["ccgrep"]):
    from fuzz.targets import TARGETS

FOUND = Path(__file__).parent / "found"


def main() -> None:
    name, corpora, *options = sys.argv[1:]
    target = TARGETS[name]
    corpus, found = Path(corpora) / name, FOUND / name
    for directory in (corpus, found):
        directory.mkdir(parents=True, exist_ok=True)
    for seed in target.seeds():
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    limits = ["-timeout=20", "-rss_limit_mb=1024", "-max_len=20000"]
    arguments = [sys.argv[0], *limits, f"-artifact_prefix={found}/", *options, str(corpus)]
    atheris.Setup(arguments, target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
