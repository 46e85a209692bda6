"""Semantics of Python on the abstract machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from gpulint.analysis.domain.completion import ABRUPT, NORMAL, PathEnds
from gpulint.analysis.domain.context import Context
from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.store import Outcome
from gpulint.analysis.domain.values.base import Arguments, Unknown, Value
from gpulint.analysis.domain.values.functions import Function, UserClass
from gpulint.analysis.engine import activation, attribute_lookup, calls, expressions, statements, type_annotations
from gpulint.analysis.engine.library import LibrarySemantics
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.project.modules import Project
from gpulint.places import Site
from gpulint.syntax import ir

Importer: TypeAlias = Callable[[Machine, str, str, Site | None], ModuleScope | None]
"""Runs a module of the project, given its path, its dotted name and the site of the import."""


class Interpreter(Machine):
    """Runs statements and expressions of Python."""

    def __init__(
        self,
        project: Project,
        scope: ModuleScope,
        plan: Plan,
        library: Callable[[Machine], LibrarySemantics],
        importer: Importer,
    ) -> None:
        super().__init__(project, scope, plan, library)
        self._importer = importer

    def evaluate(self, node: ir.Expr) -> Value:
        budget = self.budget
        budget.taken += 1
        if budget.taken > budget.limit:
            self.run_out()
        return expressions.EVALUATE[type(node)](self, node)

    def execute(self, block: Sequence[ir.Statement]) -> int:
        """Run statements until one does not fall through.

        If a statement leaves different scopes open on different paths (a conditional `enter_context`), the rest of the
        block is run on each path.
        """
        budget = self.budget
        for index, statement in enumerate(block):
            budget.taken += 1
            if budget.taken > budget.limit:
                self.run_out()
            try:
                if statements.EXECUTE[type(statement)](self, statement):
                    return ABRUPT
            except PathEnds:
                return ABRUPT
            if self.diverged:
                diverged, self.diverged = self.diverged, []
                rest = block[index + 1 :]
                return self.fork(
                    [(outcome.path, self._resume(outcome, context, rest)) for outcome, context in diverged]
                )
        return NORMAL

    def _resume(self, outcome: Outcome, context: Context, rest: Sequence[ir.Statement]) -> Callable[[], int]:
        def run() -> int:
            self.state.apply(outcome.changes)
            self.context = context
            return self.execute(rest)

        return run

    def call(self, function: Value, arguments: Arguments, site: Site) -> Value:
        return calls.call_value(self, function, arguments, site)

    def call_method(self, receiver: Value, method: Value, arguments: Arguments, site: Site) -> Value:
        return calls.call_method(self, receiver, method, arguments, site)

    def call_function(
        self, function: Function, arguments: Arguments, site: Site, receiver: Value | None = None
    ) -> Value:
        return activation.call_function(self, function, arguments, site, receiver)

    def get_attribute(self, receiver: Value, name: str, node: ir.Node) -> Value:
        return attribute_lookup.attribute(self, receiver, name, node)

    def instantiate_unknown(self, owner: UserClass, site: Site) -> Value:
        if owner.serial in self.instances:
            made, changes = self.instances[owner.serial]
            self.state.apply({**changes, **self.filled})
            return made
        mark = self.state.mark()
        made = Unknown(("instance", owner.module.path, owner.name))
        self.instances[owner.serial] = (made, {})
        with suppress(PathEnds):
            made = self.library.instantiate(owner, Arguments((), {}, True), site)
        self.instances[owner.serial] = (made, self.made_since(mark))
        return made

    def annotated(self, annotation: ir.Expr | None, module: ModuleScope, site: Site) -> Value | None:
        return type_annotations.parameter(self, annotation, module, site)

    def run_module(self, path: str, dotted: str, site: Site | None = None) -> ModuleScope | None:
        return self._importer(self, path, dotted, site)
