"""The doctor's report for a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.markup import escape

from gpulint.doctor.causes.installation import is_shadowed
from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.doctor.report import MachineReport
from gpulint.linting.finding import Severity
from gpulint.output.escapes import printable

WIDTH = 120
MAX_EVIDENCE = 6

_STYLES = {Severity.ERROR: "bold bright_red", Severity.WARNING: "bold bright_yellow", Severity.INFO: "bold bright_cyan"}


def render(report: MachineReport, color: bool) -> str:
    """The machine, the diagnoses, and the result in one line."""
    written = StringIO()
    console = Console(
        file=written,
        width=WIDTH,
        force_terminal=color,
        no_color=not color,
        highlight=False,
        legacy_windows=False,
        soft_wrap=True,
    )
    for line in _header(report.evidence):
        console.print(_safe(line))
    for one in report.diagnoses:
        console.print()
        _diagnosis(console, one)
    console.print()
    console.print(f"[bold]{_safe(report.verdict)}.[/bold]")
    return written.getvalue()


def _header(evidence: Evidence) -> list[str]:
    interpreter, build, machine = evidence.interpreter, evidence.build, evidence.machine
    where = f" in a {machine.container} container" if machine.container else " under WSL" if machine.wsl else ""
    lines = [
        f"Python {interpreter.version} in {interpreter.executable}, {machine.system} {machine.architecture}{where}"
    ]
    if is_shadowed(evidence):
        lines.append(f"tensorflow in {interpreter.package}, which is not TensorFlow")
    elif interpreter.package:
        built = f"CUDA {build.cuda_version}, cuDNN {build.cudnn_version}" if build.cuda else "the CPU"
        built = "ROCm" if build.rocm else built
        lines.append(
            f"TensorFlow {evidence.version or 'of unknown version'} in {interpreter.package}, built for {built}"
        )
    if evidence.driver_version:
        upto = f", CUDA up to {evidence.cuda_driver}" if evidence.cuda_driver else ""
        lines.append(f"NVIDIA's driver {evidence.driver_version}{upto}")
    lines += [f"card {one.index}: {one.name} at {one.bus}" for one in evidence.cards]
    for place, gpu in enumerate(evidence.gpus):
        seconds = evidence.computed.get(f"/device:GPU:{place}")
        ran = f", first operations in {seconds:.1f} s" if seconds is not None else ""
        lines.append(f"GPU:{place} of TensorFlow: {' at '.join(part for part in (gpu.card, gpu.bus) if part)}{ran}")
    return lines


def _diagnosis(console: Console, one: Diagnosis) -> None:
    style = _STYLES[one.severity]
    console.print(f"[{style}]{one.severity.value}\\[{one.id}][/] [bold]{_safe(one.seen)}[/]")
    for text in one.evidence[:MAX_EVIDENCE]:
        console.print(f"  [bold bright_blue]|[/] {_safe(text)}")
    if len(one.evidence) > MAX_EVIDENCE:
        console.print(f"  [bold bright_blue]|[/] … and {len(one.evidence) - MAX_EVIDENCE} more")
    console.print(f"  [bold bright_blue]= why:[/] {_safe(one.why)}")
    if one.fix:
        console.print(f"  [bold bright_blue]= help:[/] {_safe(one.fix)}")


def _safe(text: str) -> str:
    """One line of text without control characters or rich markup."""
    return escape(printable(" ".join(text.split())))
