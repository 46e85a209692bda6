"""The number of replicas of a strategy, and the share of each in a global batch."""

from __future__ import annotations

from gpulint.analysis.domain.context import Strategy
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import Constant, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.queries.plan_notes import strategy_name, written

_SPLITTING = frozenset({"mirrored", "multi_worker", "central_storage", "tpu"})
"""Kinds of strategies that split a global batch over replicas."""


def replicas(strategy: Strategy) -> int | None:
    """The number of replicas of a strategy, None if the program does not tell."""
    if not strategy.is_multi_replica:
        return 1
    devices = strategy.devices
    if strategy.kind in ("mirrored", "central_storage") and isinstance(devices, Items) and devices.items:
        return len(devices.items)
    return None


def replicated(strategy: Strategy) -> str:
    """`every replica of MirroredStrategy (2)`."""
    count = replicas(strategy)
    return f"every replica of {strategy_name(strategy)}" + (f" ({count})" if count is not None else "")


def per_replica(size: Value, strategy: Strategy) -> str | None:
    """The share of each replica in a global batch as text, such as `16` or `64 / replicas`; None if it is the whole
    batch or unknown."""
    if strategy.kind not in _SPLITTING:
        return None
    count = replicas(strategy)
    if isinstance(size, Constant):
        if not isinstance(size.value, int) or isinstance(size.value, bool):
            return None
        if count is None:
            return f"{size.value} / replicas"
        whole, rest = divmod(size.value, count)
        return f"{whole} or {whole + 1}" if rest else str(whole)
    symbol = symbol_of(size)
    if symbol.parts[:2] == ("binary", "*"):
        for factor, other in (symbol.parts[2:4], symbol.parts[3:1:-1]):
            if isinstance(factor, Symbol) and factor.parts[0] == "replicas":
                return _known(written(other))
    text = _known(written(symbol))
    return f"{text} / {count or 'replicas'}" if text else None


def _known(text: str) -> str | None:
    return None if "…" in text else text
