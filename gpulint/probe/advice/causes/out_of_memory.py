"""A device has no memory left."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.words import holders
from gpulint.probe.measures.holders import Held
from gpulint.probe.measures.out_of_memory import largest_batch, needed_to_run, refused, retried
from gpulint.probe.measures.sizes import in_words

RETRY = 10
"""Seconds for which TensorFlow retries a failed allocation."""


KEEPS = "Keep no tensor of a step longer than the step, or keep it as a NumPy array."
"""What to do where Python keeps most of the memory."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """The allocation that ended the program, or those that TensorFlow repeated."""
    capture = observed.capture
    failed, repeated = refused(capture), retried(capture)
    waited = f"TensorFlow retried {repeated:,} allocations for up to {RETRY} s each." if repeated else ""
    full = _at(observed, failed.device if failed else "")
    held = "".join(f"{one.device} holds {who}. " for one in full if (who := holders(one)))
    if failed is not None:
        ran = needed_to_run(capture, observed.held)
        needed = f"`{ran.name}` needed {in_words(ran.size)} while it ran. " if ran is not None and ran.name else ""
        size = f" for {in_words(failed.size)}" if failed.size else ""
        yield Candidate(
            "out-of-memory",
            capture.error_at,
            f"{failed.device or 'the device'} has no memory left{size}",
            f"{held}{needed}{waited}".strip() or "The program ended with this error.",
            KEEPS if any(map(_is_kept, full)) else _fix(observed),
            is_urgent=True,
        )
    elif repeated:
        yield Candidate(
            "out-of-memory",
            None,
            "memory allocations fail and are retried",
            f"{held}{waited}",
            "Use a smaller batch or model, or spread it over more devices.",
            {"launch": float(RETRY * repeated)},
            is_urgent=not observed.time.steps,
        )


def _fix(observed: Observed) -> str:
    known = largest_batch(observed.capture, observed.held)
    if known is None:
        known_to = "; `gpulint estimate` names the largest batch that fits" if observed.capture.simulated else ""
        return f"Use a smaller batch or model, or spread it over more devices{known_to}."
    if not known.fits:
        return f"Use a smaller model, or more devices: no batch size fits ({known.batch:,} failed)."
    return f"Batches above {known.fits:,} do not fit ({known.batch:,} failed). Use a smaller one, or more devices."


def _is_kept(full: Held) -> bool:
    return 2 * sum(one.bytes for one in full.holders if one.group == "python") > full.peak


def _at(observed: Observed, device: str) -> list[Held]:
    """Holders of the memory of a device, or of all GPUs if the device is unknown."""
    known = [one for one in observed.held if one.holders]
    return [one for one in known if one.device == device or (not device and one.device.startswith("GPU"))]
