"""Prints figures in rows, each with its ratios to the figures that it is compared with."""

from typing import NamedTuple

from bench.measure import Memory


class Ratio(NamedTuple):
    """A figure divided by another one, and the limit that the ratio must keep."""

    value: float
    limit: float
    against: str = ""
    is_minimum: bool = False

    def __str__(self) -> str:
        bound = "at least" if self.is_minimum else "at most"
        is_kept = self.value >= self.limit if self.is_minimum else self.value <= self.limit
        verdict = "ok" if is_kept else "FAILED"
        return f"{self.value:8.3g} of {bound} {self.limit:<7.3g}{verdict:<7}{self.against}".rstrip()


def print_row(label: str, figure: str, *ratios: Ratio) -> None:
    first, *rest = [*map(str, ratios)] or [""]
    print(f"  {label:<32}{figure:>24}{first}", flush=True)
    for ratio in rest:
        print(f"  {'':<56}{ratio}", flush=True)


def print_memory(label: str, peak: Memory, limit_mb: int) -> None:
    """Print anonymous memory against a limit, unless it could not be measured."""
    ratio = Ratio(peak.anonymous / 1e6 / limit_mb, 1, f"{limit_mb} MB")
    print_row(label, str(peak), *([ratio] if peak.resident else []))


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"
