"""Runs a user's program as it would run without the probe, and watches it from outside.

The program is a child in our process group with our standard input, directory, environment, open files and terminal.
Its output streams pass through us; if both go to the same place they share one channel, which keeps their order. The
agent inside the program and this parent append to one capture.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from gpulint.probe.capture.recorder import Recorder
from gpulint.probe.capture.records import Frame, Worker
from gpulint.probe.launch.blind_spots import lost_evidence
from gpulint.probe.launch.capture_tail import CaptureTail
from gpulint.probe.launch.channel import Channel, are_one, standard_error, standard_output
from gpulint.probe.launch.full_devices import FullDevices
from gpulint.probe.launch.hang_watch import HangWatch
from gpulint.probe.launch.kills import kills_for_memory
from gpulint.probe.launch.peers import Ends, Peers, StopReason
from gpulint.probe.launch.process_tree import ProcessTree
from gpulint.probe.launch.progress import ProgressLine
from gpulint.probe.launch.signals import Relay
from gpulint.probe.launch.stacks import remove_stacks, stack_in, waiting_agent
from gpulint.probe.launch.start_record import write_start
from gpulint.probe.launch.stream import Stream
from gpulint.probe.launch.window import record_window
from gpulint.probe.measures.cards import Cards
from gpulint.probe.placement_log.summary import LogRecords, LogSummary, SharedSummary, Summary

_LOOK = 0.25
"""Seconds between two looks at the capture."""

_SAMPLE = 1.0
"""Seconds between two samples of the program's processes."""

_STACKS = 0.5
"""Seconds for the agent to write the stacks of all threads."""

WARN_AFTER = 600.0
"""Seconds without activity after which a warning says where the program is."""

_GRACE = 5.0
"""Seconds for the program to end after SIGTERM, and for the system to end it after SIGKILL."""

CRASHES = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV})
"""Signals by which a program ends itself; Python writes its stacks before."""

Reason = Literal["exit", "timeout", "hang", "interrupt", "peer"]


class Ended(NamedTuple):
    """How a program ended."""

    status: int | None
    """Exit status, or None if a signal ended it."""
    signal: int | None
    """Number of that signal."""
    reason: Reason
    """Why it ended: by itself, stopped by us ("peer": another worker has failed), or after a signal from outside asked
    it to end."""
    seconds: float
    faults: tuple[str, ...]
    """The probe's own failures."""


def stacks_path(capture_path: str) -> str:
    """Where the agent writes the stacks of all threads on SIGUSR2.

    The file exists once the agent handles the signal; before that SIGUSR2 would kill the program.
    """
    return f"{capture_path}.stacks"


def run(
    command: Sequence[str],
    *,
    capture_path: str,
    program: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    hang_after: float | None = None,
    warn_after: float | None = WARN_AFTER,
    progress: ProgressLine | None = None,
    cards: Cards | None = None,
    worker: Worker | None = None,
    peers: Peers | None = None,
    traces: str = "",
) -> Ended:
    """Runs a command to its end. Raises OSError if it cannot be started.

    `capture_path` is overwritten. `program` is the command as users know it, for the capture; `environment` defaults to
    ours. The command is stopped after `timeout` seconds, and after `hang_after` seconds without activity; after
    `warn_after` seconds without activity a warning names the line it is at. TensorFlow's placement log is held back if
    the agent turned it on and the program did not. `cards` are sampled during the run. `worker` is the cluster task
    that the program is; with `peers` it is one of several workers that we started, which decide together whether they
    hang. `traces` is a directory for the traces of TensorFlow's profiler, which are deleted otherwise.
    """
    recorder = Recorder(capture_path, fresh=True)
    remove_stacks(stacks_path(capture_path))
    environment_of = os.environ if environment is None else environment
    write_start(recorder, program if program is not None else command, environment_of, worker)
    made = None
    try:
        made = _Run(command, environment, recorder, capture_path, progress, cards, peers)
        ended = made.to_its_end(timeout, hang_after, warn_after)
        record_window(recorder, capture_path, environment, traces)
        return ended
    except OSError as error:
        recorder.write("fault", where="start of the program", error=str(error))
        raise
    finally:
        recorder.close()
        remove_stacks(stacks_path(capture_path), only_empty=made is not None and made.is_ended_by_us)


class _Run:
    """One running program."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None,
        recorder: Recorder,
        capture_path: str,
        progress: ProgressLine | None,
        cards: Cards | None,
        peers: Peers | None,
    ) -> None:
        self._cards = cards
        self._peers = peers
        ends = peers.ends if peers is not None else Ends(None, standard_output(), standard_error())
        self._input = ends.input
        self._command, self._environment = list(command), environment
        self._recorder = recorder
        self._stacks = stacks_path(capture_path)
        self._progress = progress
        self._tail = tail = CaptureTail(capture_path)
        self._process: subprocess.Popen[bytes] | None = None
        self.is_ended_by_us = False
        self._kills = kills_for_memory()
        self._ended = threading.Event()
        self._relay = Relay(self._send, self._resize)

        def holds_log() -> bool:
            """The agent records that it turned the log on before TensorFlow prints the first line."""
            tail.look()
            return tail.holds_log

        output, errors = ends.output, ends.errors
        self._errors = errors
        summaries: dict[Channel, Summary] = {}
        if are_one(output, errors):
            summaries[Channel("output", output)] = SharedSummary("stdout", "stderr")
        else:
            summaries[Channel("stdout", output)] = LogSummary("stdout")
            summaries[Channel("stderr", errors)] = LogSummary("stderr")
        self._channels = tuple(summaries)
        self._waits, self._wakes = os.pipe()
        self._streams = [
            Stream(
                channel,
                summary,
                ended=self._waits,
                holds_log=holds_log,
                mutes=lambda: tail.holds_profiler,
                line=progress,
            )
            for channel, summary in summaries.items()
        ]
        self._logs = [LogRecords(stream.summary, recorder) for stream in self._streams]

    def to_its_end(self, timeout: float | None, hang_after: float | None, warn_after: float | None) -> Ended:
        """Starts the program and returns when all its output has been passed on."""
        reason: Reason = "exit"
        began = time.monotonic()
        with self._relay:
            process = self._start()
            tree = ProcessTree(process.pid)
            forced = self._watch(began, tree, timeout, hang_after, warn_after)
            if forced is not None:
                reason, self.is_ended_by_us = forced, True
                self._end(tree, forced)
            elif self._relay.requests:
                reason = "interrupt"
            for evidence, why in lost_evidence(self._tail, tree, by_itself=reason == "exit"):
                self._recorder.write("lost", evidence=evidence, reason=why)
            seconds = time.monotonic() - began
            self._drain(forced=forced is not None)
            if self._progress is not None:
                self._progress.close()
        return self._close(process.poll(), reason, seconds)

    def _start(self) -> subprocess.Popen[bytes]:
        output, errors = self._channels[0], self._channels[-1]
        try:
            # Without close_fds the program inherits every file that the user opened for it, as <(…) does in a shell;
            # ours are not inheritable.
            self._process = process = subprocess.Popen(
                self._command,
                stdin=self._input,
                stdout=output.inner,
                stderr=errors.inner,
                env=self._environment,
                close_fds=False,
            )
        except OSError:
            for descriptor in {output.outer, errors.outer, self._waits, self._wakes}:
                os.close(descriptor)
            raise
        finally:
            for channel in self._channels:
                channel.started()
        self._relay.started()  # before any output can show that the program runs
        for stream in self._streams:
            stream.start()
        threading.Thread(target=self._reap, args=(process,), name="gpulint wait", daemon=True).start()
        if self._peers is not None:
            self._peers.started(self._send)
        return process

    def _reap(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._ended.set()

    def _watch(
        self,
        began: float,
        tree: ProcessTree,
        timeout: float | None,
        hang_after: float | None,
        warn_after: float | None,
    ) -> StopReason | None:
        """Waits for the end. Returns why the program must be stopped, or None if it has ended."""
        quiet: HangWatch | None = HangWatch(warn_after, began)
        full = FullDevices()
        worked = 0
        hang = HangWatch(hang_after, began).look if self._peers is None else self._peers.hang
        sampled = float("-inf")
        rest = 0.0
        while not self._ended.wait(rest):
            now = time.monotonic()
            if timeout is not None and now - began >= timeout:
                return "timeout"
            if self._peers is not None and (stop_reason := self._peers.stop_reason()) is not None:
                return stop_reason
            if now - sampled >= _SAMPLE:
                sampled = now
                resident, spent = tree.sample()
                if resident and not self._tail.is_whole:  # not of what is left while the program ends
                    self._recorder.write("host", resident=resident)
                if self._cards is not None and (rows := self._cards.sample(tree.pids)):
                    self._recorder.write("cards", rows=rows)
                    worked += any(busy > 0 for *_, by_program, _, busy in rows if by_program)
                self._tail.look()
                seen = (self._tail.events, worked, *(stream.received for stream in self._streams))
                blocked = any(stream.blocked for stream in self._streams)
                if hang(now, seen, spent, blocked=blocked):
                    return "hang"
                if quiet is not None and quiet.look(now, seen, spent, blocked=blocked):
                    quiet = None
                    self._warn(warn_after or 0.0)
                for stream in self._streams:
                    for line in full.look(stream.summary.messages):
                        self._say(line)
                for log in self._logs:
                    log.write(now - began)
            if self._progress is not None:
                self._tail.look()
                self._progress.draw(self._tail, now - began)
            rest = _LOOK if timeout is None else min(_LOOK, max(0.0, began + timeout - time.monotonic()))
        return None

    def _warn(self, seconds: float) -> None:
        """Prints where a silent program is, and lets it go on."""
        self._ask_for_stacks()
        stack = stack_in(self._stacks)
        own = next((frame for frame in stack if frame.own), None)
        at = f"; it is in {_at(own)}" if own is not None else ""
        inside = f", in {stack[0].path}:{stack[0].row}" if own is not None and stack[0] is not own else ""
        agent = waiting_agent(self._stacks)
        itself = f"; gpulint itself waits for TensorFlow, in {_at(agent)}" if agent is not None else ""
        self._say(f"no sign of life for {seconds:g} s{at}{inside}{itself}. --hang-after S stops such a program.")

    def _say(self, text: str) -> None:
        if self._errors is not None:
            os.write(self._errors, f"gpulint: {text}\n".encode("utf-8", "backslashreplace"))

    def _ask_for_stacks(self) -> bool:
        if not os.path.exists(self._stacks):
            return False
        self._send(signal.SIGUSR2)
        self._ended.wait(_STACKS)
        return True

    def _end(self, tree: ProcessTree, reason: StopReason) -> None:
        """Stops the program, after giving it time to write its stacks and to end by itself."""
        tree.look()  # its children can only be found while it lives
        if self._ask_for_stacks():
            self._recorder.write("stack", frames=stack_in(self._stacks))
            if reason == "hang" and (frame := waiting_agent(self._stacks)) is not None:
                self._recorder.write(
                    "fault", where="hang", error=f"gpulint itself waits for TensorFlow, in {_at(frame)}"
                )
        self._send(signal.SIGTERM)
        self._ended.wait(_GRACE)
        tree.kill()
        self._ended.wait(_GRACE)

    def _drain(self, *, forced: bool) -> None:
        """Waits until the program's remaining output has been passed on.

        This may take as long as the reader of our output needs, unless we stopped the program or were asked to end.
        """
        os.close(self._wakes)
        requests, limit = self._relay.requests, time.monotonic() + _GRACE
        for stream in self._streams:
            while not stream.wait(_LOOK) and self._relay.requests == requests:
                if forced and time.monotonic() > limit:
                    break

    def _close(self, code: int | None, reason: Reason, seconds: float) -> Ended:
        if all(stream.wait(0) for stream in self._streams):
            os.close(self._waits)
        for log in self._logs:
            log.write_last()
        faults = [stream.fault for stream in self._streams if stream.fault]
        if code is None:
            faults.append("the program did not end, even after SIGKILL")
        for fault in faults:
            self._recorder.write("fault", where="launch", error=fault)
        status = code if code is not None and code >= 0 else None
        number = -code if code is not None and code < 0 else None
        if number in CRASHES and not self.is_ended_by_us and (frames := stack_in(self._stacks, of_crash=True)):
            self._recorder.write("stack", frames=frames)
        last = max(self._streams, key=lambda stream: stream.said_at).last_line
        kills = kills_for_memory()
        self._recorder.write(
            "end",
            status=status,
            signal=number,
            reason=reason,
            seconds=round(seconds, 3),
            last=last,
            oom_kills=kills - self._kills if kills is not None and self._kills is not None else None,
        )
        if self._recorder.error:
            faults.append(self._recorder.error)
        return Ended(status, number, reason, seconds, tuple(faults))

    def _send(self, number: int) -> None:
        if self._process is not None and not self._ended.is_set():
            self._process.send_signal(number)

    def _resize(self) -> None:
        for channel in self._channels:
            channel.resize()


def _at(frame: Frame) -> str:
    return f"`{frame.function}`, {frame.path}:{frame.row}"
