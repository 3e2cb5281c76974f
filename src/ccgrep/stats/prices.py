"""What models cost: the public list prices in US dollars, and the user's own over them.

Money is whole numbers: a dollar per million tokens is a million trillionths of a dollar per token.
A model that is not in the table has no price, and nothing guesses one.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from ccgrep.errors import UsageError
from ccgrep.lazy_re import compile_pattern
from ccgrep.text import one_line

DATE = "2026-10-27"
"""When the table was compared with the price lists of Anthropic, OpenAI and Google."""
TRILLION = 10**12
CONTEXT_BOUNDS = (100_000, 128_000, 200_000, 256_000, 272_000, 500_000)
"""The input tokens of a message above which a price list may have another price."""
_PER_DOLLAR = 10**6
_MAX_PRICE = 10**6  # dollars per million tokens
_CLAUDE_DATE = r"-20\d{6}(?=(-fast)?$)"
_OPENAI_DATE = r"-20\d\d-\d\d-\d\d$"
_LONG_CONTEXT = "[1m]"
_NAMES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


class Price(NamedTuple):
    """The price of one token of each kind, in trillionths of a dollar.

    `long` is the price of a message whose input has more than `above` tokens, caches included.
    """

    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    above: int = 0
    long: "Price | None" = None

    def at(self, context: int) -> "Price":
        """Return the price of a message with `context` bounds of CONTEXT_BOUNDS below it."""
        is_long = self.long is not None and CONTEXT_BOUNDS.index(self.above) < context
        return self.long if is_long and self.long is not None else self


Prices = Mapping[str, Price]

# Per million tokens: input, output, cache read; then above how many tokens of input which prices.
_ANTHROPIC: dict[str, tuple[str, ...]] = {
    "claude-fable-5-1": ("10", "50", "0.25"),
    "claude-fable-5": ("10", "50", "1"),
    "claude-mythos-5-1": ("10", "50", "0.25"),
    "claude-mythos-5": ("10", "50", "1"),
    "claude-opus-5-5": ("4", "20", "0.20"),
    "claude-opus-5": ("5", "25", "0.50"),
    "claude-opus-4-8": ("5", "25", "0.50"),
    "claude-opus-4-7": ("5", "25", "0.50"),
    "claude-opus-4-6": ("5", "25", "0.50"),
    "claude-opus-4-5": ("5", "25", "0.50"),
    "claude-opus-4-1": ("15", "75", "1.50"),
    "claude-opus-4": ("15", "75", "1.50"),
    "claude-opus-4-0": ("15", "75", "1.50"),
    "claude-3-opus": ("15", "75", "1.50"),
    "claude-sonnet-5-5": ("2", "10", "0.10"),
    "claude-sonnet-5": ("2", "10", "0.20"),
    "claude-sonnet-4-6": ("3", "15", "0.30"),
    "claude-sonnet-4-5": ("3", "15", "0.30", "200000", "6", "22.50", "0.60"),
    "claude-sonnet-4": ("3", "15", "0.30", "200000", "6", "22.50", "0.60"),
    "claude-sonnet-4-0": ("3", "15", "0.30", "200000", "6", "22.50", "0.60"),
    "claude-3-7-sonnet": ("3", "15", "0.30"),
    "claude-3-5-sonnet": ("3", "15", "0.30"),
    "claude-haiku-5-5": ("0.10", "0.50", "0.01", "100000", "0.50", "2.50", "0.05"),
    "claude-haiku-4-5": ("1", "5", "0.10"),
    "claude-3-5-haiku": ("0.80", "4", "0.08"),
}
_OPENAI: dict[str, tuple[str, ...]] = {
    "gpt-6.1-sol": ("2", "10", "0.10", "272000", "4", "15", "0.20"),
    "gpt-6.1-terra": ("1", "5", "0.05", "272000", "2", "7.50", "0.10"),
    "gpt-6-astra": ("10", "50", "1", "272000", "20", "75", "2"),
    "gpt-6-sol": ("2", "10", "0.20", "272000", "4", "15", "0.40"),
    "gpt-6-luna": ("0.10", "0.50", "0.01", "272000", "0.20", "0.75", "0.02"),
    "gpt-5.6": ("4", "20", "0.40", "272000", "8", "30", "0.80"),  # another name of gpt-5.6-sol
    "gpt-5.6-sol": ("4", "20", "0.40", "272000", "8", "30", "0.80"),
    "gpt-5.6-terra": ("2", "12", "0.20", "272000", "4", "18", "0.40"),
    "gpt-5.6-luna": ("0.20", "1.20", "0.02", "272000", "0.40", "1.80", "0.04"),
    "gpt-5.5": ("5", "30", "0.50", "272000", "10", "45", "1"),
    "gpt-5.4": ("2.50", "15", "0.25", "272000", "5", "22.50", "0.50"),
    "gpt-5.4-mini": ("0.75", "4.50", "0.075"),
    "gpt-5.4-nano": ("0.20", "1.25", "0.02"),
    "gpt-5.3-codex": ("1.75", "14", "0.175"),
    "gpt-5.2-codex": ("1.75", "14", "0.175"),
    "gpt-5.2": ("1.75", "14", "0.175"),
    "gpt-5.1-codex-max": ("1.25", "10", "0.125"),
    "gpt-5.1-codex-mini": ("0.25", "2", "0.025"),
    "gpt-5.1-codex": ("1.25", "10", "0.125"),
    "gpt-5.1": ("1.25", "10", "0.125"),
    "gpt-5-codex": ("1.25", "10", "0.125"),
    "gpt-5-mini": ("0.25", "2", "0.025"),
    "gpt-5-nano": ("0.05", "0.40", "0.005"),
    "gpt-5": ("1.25", "10", "0.125"),
    "gpt-4.1-mini": ("0.40", "1.60", "0.10"),
    "gpt-4.1-nano": ("0.10", "0.40", "0.025"),
    "gpt-4.1": ("2", "8", "0.50"),
    "gpt-4o-mini": ("0.15", "0.60", "0.075"),
    "gpt-4o": ("2.50", "10", "1.25"),
    "gpt-4o-2024-05-13": ("5", "15", "5"),  # the only date with prices of its own
    "codex-mini-latest": ("1.50", "6", "0.375"),
    "o4-mini": ("1.10", "4.40", "0.275"),
    "o3-mini": ("1.10", "4.40", "0.55"),
    "o3": ("2", "8", "0.50"),
    "o1": ("15", "60", "7.50"),
}
_GOOGLE: dict[str, tuple[str, ...]] = {
    "gemini-3.8-flash": ("0.75", "3.75", "0.075"),
    "gemini-3.7-flash": ("0.75", "3.75", "0.075"),
    "gemini-3.6-flash": ("0.75", "3.75", "0.075"),
    "gemini-3.5-flash": ("1.50", "9", "0.15"),
    "gemini-3.5-flash-lite": ("0.30", "2.50", "0.03"),
    "gemini-3.1-pro-preview": ("2", "12", "0.20", "200000", "4", "18", "0.40"),
    "gemini-3.1-flash-lite": ("0.25", "1.50", "0.025"),
    "gemini-3.1-flash-lite-preview": ("0.25", "1.50", "0.025"),
    "gemini-3-pro-preview": ("2", "12", "0.20", "200000", "4", "18", "0.40"),
    "gemini-3-flash-preview": ("0.50", "3", "0.05"),
    "gemini-2.5-pro": ("1.25", "10", "0.125", "200000", "2.50", "15", "0.25"),
    "gemini-2.5-flash": ("0.30", "2.50", "0.03"),
    "gemini-2.5-flash-lite": ("0.10", "0.40", "0.01"),
}
_FAST_MODES = {
    "claude-opus-5-5": 2,
    "claude-opus-5": 2,
    "claude-opus-4-8": 2,
    "claude-opus-4-7": 6,
    "claude-opus-4-6": 6,
}
"""How many times the normal price the fast mode of a model costs, caches included."""
_CHARGED_FOR_WRITES = ("gpt-5.6", "gpt-6")
"""How the names of OpenAI's models begin whose cache writes cost 1.25 times the input, not 1."""
_FAST = "-fast"  # as the readers name a message in fast mode


def _per_token(dollars: str | int | Decimal) -> int:
    """Return dollars per million tokens as trillionths of a dollar per token."""
    amount = Decimal(dollars) * _PER_DOLLAR
    if amount != amount.to_integral_value() or not 0 <= amount <= _MAX_PRICE * _PER_DOLLAR:
        raise InvalidOperation
    return int(amount)


def _anthropic(input: str, output: str, read: str, *long: str) -> Price:
    """Return a price whose cache writes are 1.25 and 2 times the input, as published."""
    token = _per_token(input)
    price = Price(token, _per_token(output), _per_token(read), token * 5 // 4, token * 2)
    if not long:
        return price
    return price._replace(above=int(long[0]), long=_anthropic(*long[1:]))


def _others(model: str, input: str, output: str, read: str, *long: str) -> Price:
    """Return a price of OpenAI or Google, who charge what they write to a cache as input."""
    token = _per_token(input)
    written = token * 5 // 4 if model.startswith(_CHARGED_FOR_WRITES) else token
    price = Price(token, _per_token(output), _per_token(read), written, written)
    if not long:
        return price
    return price._replace(above=int(long[0]), long=_others(model, *long[1:]))


def list_prices() -> dict[str, Price]:
    """Return the public list prices by model."""
    prices = {model: _anthropic(*fields) for model, fields in _ANTHROPIC.items()}
    for model, times in _FAST_MODES.items():
        normal = prices[model]
        prices[f"{model}{_FAST}"] = _make_price(amount * times for amount in normal[:5])
    for model, fields in (_OPENAI | _GOOGLE).items():
        prices[model] = _others(model, *fields)
    haiku = map(_per_token, ("0.25", "1.25", "0.03", "0.30", "0.50"))  # rounded multiples
    return prices | {"claude-3-haiku": _make_price(haiku)}


def _make_price(amounts: Iterable[int]) -> Price:
    input, output, cache_read, cache_write_5m, cache_write_1h = amounts
    return Price(input, output, cache_read, cache_write_5m, cache_write_1h)


def find_price(prices: Prices, model: str) -> Price | None:
    """Return the price of a model, which may have a date or the mark of a long context."""
    name = model.replace(_LONG_CONTEXT, "")
    if name in prices:
        return prices[name]
    if name.startswith("claude-"):
        name = compile_pattern(_CLAUDE_DATE).sub("", name).removesuffix("-latest")
    return prices.get(compile_pattern(_OPENAI_DATE).sub("", name))


def read_prices(path: str) -> dict[str, Price]:
    """Return the list prices with those of the user's file over them, if it exists."""
    try:
        with open(path, "rb") as file:
            tables = tomllib.load(file, parse_float=Decimal)
    except FileNotFoundError:
        return list_prices()
    except OSError as error:
        raise UsageError(f"cannot read {one_line(path)} ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{one_line(path)} is not TOML: {one_line(str(error))}") from error
    return list_prices() | dict(_user_prices(path, tables))


def _user_prices(path: str, tables: Mapping[str, Any]) -> Iterator[tuple[str, Price]]:
    for model, fields in tables.items():
        where = f"[{model}] in {path}"
        if not isinstance(fields, dict):
            raise UsageError(one_line(f"{where} must be a table with input and output"))
        unknown = sorted(fields.keys() - {*_NAMES, "above", "long"})
        if unknown:
            keys = ", ".join((*_NAMES, "above", "long"))
            raise UsageError(one_line(f"{where} has the unknown key {unknown[0]}: use {keys}"))
        price = _user_price(where, fields)
        if ("above" in fields) != ("long" in fields):
            raise UsageError(one_line(f"{where} needs both above and long, or neither"))
        if "long" in fields:
            if fields["above"] not in CONTEXT_BOUNDS:
                bounds = ", ".join(map(str, CONTEXT_BOUNDS))
                raise UsageError(one_line(f"above of {where} must be one of {bounds}"))
            if not isinstance(fields["long"], dict):
                raise UsageError(one_line(f"long of {where} must be a table"))
            long = _user_price(f"long of {where}", fields["long"])
            price = price._replace(above=fields["above"], long=long)
        yield model, price


def _user_price(where: str, fields: Mapping[str, Any]) -> Price:
    """Return a price. What is cached costs as much as input unless the table says otherwise."""
    values = {name: fields.get(name, fields.get("input")) for name in _NAMES}
    values["output"] = fields.get("output")
    found: list[int] = []
    for name, value in values.items():
        is_number = isinstance(value, int | Decimal | str) and not isinstance(value, bool)
        try:
            if not is_number:
                raise InvalidOperation
            found.append(_per_token(value))
        except InvalidOperation:
            raise UsageError(
                one_line(
                    f"{name} of {where} must be dollars per million tokens with at most six "
                    f"decimals, not {value!r}"
                )
            ) from None
    return _make_price(found)
