"""Options that editors may set."""

from __future__ import annotations

import pytest

from gpulint.server.options import MAX_DEBOUNCE, WORKSPACE, BadOption, Options, read_options


def test_nothing_leaves_everything_as_it_was() -> None:
    before = Options(debounce=7)
    assert read_options(None, before) is before
    assert read_options({}, before) == before


def test_a_section_of_the_editors_settings_is_read_like_its_content() -> None:
    given = {"debounce": 20, "diagnosticMode": "workspace", "inlayHints": False, "hover": {"device": False}}
    options = read_options({"gpulint": given})
    assert options == read_options(given)
    assert options == Options(
        diagnostic_mode=WORKSPACE, debounce=20, hover_devices=False, hint_devices=False, hint_batches=False
    )


def test_one_kind_of_hints_can_be_switched_off() -> None:
    options = read_options({"inlayHints": {"device": False}})
    assert (options.hint_devices, options.hint_batches) == (False, True)


def test_a_delay_is_never_so_long_that_the_server_seems_dead() -> None:
    assert read_options({"debounce": 10**9}).debounce == MAX_DEBOUNCE


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "must be an object"),
        ({"select": []}, "gpulint.select: there is no such option"),
        ({"debounce": "fast"}, "gpulint.debounce must be a number of milliseconds, not 'fast'"),
        ({"debounce": True}, "gpulint.debounce must be"),
        ({"diagnosticMode": "all"}, "must be `openFilesOnly` or `workspace`"),
        ({"inlayHints": {"device": 1}}, "gpulint.inlayHints must be"),
        ({"settings": "lint"}, "gpulint.settings must be an object"),
        ({"configuration": 3}, "gpulint.configuration must be a path"),
    ],
)
def test_a_wrong_option_is_named(given: object, said: str) -> None:
    with pytest.raises(BadOption, match=said.split("`")[0]):
        read_options(given)
