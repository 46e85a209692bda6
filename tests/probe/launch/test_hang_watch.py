"""Programs that hang, and programs that only seem to."""

from __future__ import annotations

from gpulint.probe.launch.hang_watch import HangWatch


def hangs_after(watch: HangWatch, *, spent: float = 0.0, until: int = 1000, blocked: bool = False) -> int | None:
    """The second at which a program that uses this much processor time per second is reported to hang."""
    return next((now for now in range(1, until) if watch.look(now, (1, 2), spent, blocked=blocked)), None)


class TestHangWatch:
    def test_silence_without_work(self) -> None:
        assert hangs_after(HangWatch(60, 0)) == 61  # the first look is the first news

    def test_a_little_work_is_none(self) -> None:
        assert hangs_after(HangWatch(60, 0), spent=0.008) == 61

    def test_silent_work(self) -> None:
        assert hangs_after(HangWatch(60, 0), spent=0.02) is None

    def test_work_from_time_to_time(self) -> None:
        watch = HangWatch(60, 0)
        assert not any(watch.look(now, (), 1.0 if now % 50 == 0 else 0.0) for now in range(1, 1000))

    def test_news(self) -> None:
        watch = HangWatch(60, 0)
        assert not any(watch.look(now, (now // 50,), 0.0) for now in range(1, 1000))

    def test_output_that_nobody_reads(self) -> None:
        assert hangs_after(HangWatch(60, 0), blocked=True) is None

    def test_no_limit(self) -> None:
        assert hangs_after(HangWatch(None, 0)) is None

    def test_time_in_which_we_did_not_run_either_does_not_count(self) -> None:
        watch = HangWatch(60, 0)
        assert not watch.look(1, (), 0.0)
        assert not watch.look(1001, (), 0.0)
        assert not watch.look(1004, (), 0.0)
        assert [watch.look(now, (), 0.0) for now in (1030, 1059, 1061)] == [False, False, False]
