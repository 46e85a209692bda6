"""GPU6xx: dtypes, and kernels of recurrent layers."""

from __future__ import annotations

from gpulint.linting.finding import Finding
from gpulint.probe.capture.contents import Capture
from gpulint.probe.measures.reasons import has_gpu, is_heavy
from gpulint.probe.verdicts.evidence import Judge, Verdict, placed


def _in_float64(finding: Finding, capture: Capture) -> Verdict | None:
    heavy = [one for one in placed(capture) if is_heavy(one.op) and one.dtype]
    wide = sum(one.times for one in heavy if one.dtype in ("float64", "complex128"))
    if not heavy:
        return None
    total = sum(one.times for one in heavy)
    return Verdict(wide > 0, f"{wide} of {total} heavy operations in float64")


def _recurrent(finding: Finding, capture: Capture) -> Verdict | None:
    if not has_gpu(capture):
        return None
    used = sum(one.times for one in placed(capture) if one.op.startswith("CudnnRNN"))
    return (
        Verdict(False, f"{used} cuDNN operations of recurrent layers ran")
        if used
        else Verdict(True, "no `CudnnRNN` operation ran")
    )


VERDICTS: dict[str, Judge] = {"GPU603": _recurrent, "GPU604": _in_float64}
