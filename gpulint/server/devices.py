"""Predicted devices of operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from gpulint.analysis import Plan
from gpulint.analysis.domain.context import Strategy, Where
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.plan import events
from gpulint.analysis.queries.moments import hides_all_gpus
from gpulint.analysis.queries.plan_notes import conditions
from gpulint.knowledge import has_gpu_kernel
from gpulint.places import Site
from gpulint.server.batches import replicated


class Devices:
    """The devices of a plan's operations and layers; `place` describes a site."""

    def __init__(self, plan: Plan, place: Callable[[Site], str]) -> None:
        self._plan = plan
        self._place = place
        self._hidden = hides_all_gpus(plan)
        self._functions = {event.site for event in plan.events if isinstance(event, events.FunctionTraced)}
        self._pipelines: set[Site] = set()
        self._entered: Counter[Site] = Counter()
        """Number of device scopes around each place that starts replicas."""
        for event in plan.events:
            if isinstance(event, events.DatasetBatched | events.DatasetConsumed | events.DatasetDistributed):
                if isinstance(event.dataset, Dataset):
                    self._pipelines.update(step.site for step in event.dataset.steps)
            elif isinstance(event, events.StrategyRun | events.ModelFitted):
                depth = len(event.where.context.devices)
                self._entered[event.site] = max(self._entered[event.site], depth)

    def told(self) -> Iterator[tuple[Site, str]]:
        """Facts known about each operation and layer."""
        for event in self._plan.events:
            if isinstance(event, events.OpCalled) and not event.result.symbolic:
                if (where := self._of_operation(event)) is not None:
                    yield event.site, f"runs on {where}{self._manner(event.where)}"
            elif isinstance(event, events.LayerBuilt):
                if (home := self._of_weights(event.where)) is not None:
                    yield event.site, f"weights on {home}{_when(event.where)}"

    def _of_operation(self, event: events.OpCalled) -> str | None:
        where, context = event.where, event.where.context
        if where.graph_mode:
            return None
        if context.traced in self._pipelines:
            return "the host CPU, in a function of a tf.data pipeline"
        entered = context.devices
        if context.replica is not None and len(entered) <= self._entered[context.replica.site]:
            return self._replicas(context.replica.strategy)
        if entered:
            scope = entered[-1]
            if scope.device is None:
                return None
            chosen = ", chosen at run time" if scope.chosen else ""
            text = f"`{scope.device}` (`tf.device` at {self._place(scope.site)}{chosen})"
            return f"{text}, on {self._replicas(context.replica.strategy)}" if context.replica is not None else text
        if not where.caller.known or context.maybe_scoped:
            return None
        if self._hidden:
            return "the CPU: the program hides the GPUs"
        if has_gpu_kernel(event.name, event.dtype) is False:
            return "the CPU: TensorFlow has no GPU kernel for it"
        return "TensorFlow's default device: `/GPU:0` where there is one that can, else the CPU"

    def _of_weights(self, where: Where) -> str | None:
        context = where.context
        if context.strategy is not None:
            return self._replicas(context.strategy) if context.strategy.is_multi_replica else None
        if context.device is not None and context.device.device is not None:
            return f"`{context.device.device}` (`tf.device` at {self._place(context.device.site)})"
        return None

    def _replicas(self, strategy: Strategy) -> str:
        return f"{replicated(strategy)}, created at {self._place(strategy.site)}"

    def _manner(self, where: Where) -> str:
        """Whether the place is compiled or eager, and on which condition it is reached."""
        context, manner = where.context, ""
        if context.traced in self._functions and context.traced is not None:
            manner = f"; compiled by `tf.function` ({self._place(context.traced)})"
        elif not context.may_be_traced and where.caller.known:
            manner = "; eager"
        return manner + _when(where)


def _when(where: Where) -> str:
    return f", when {conditions(where.path)}" if where.path else ""
