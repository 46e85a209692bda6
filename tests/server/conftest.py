"""Tests of the server need its extra."""

import pytest

pytest.importorskip("pygls", reason="pip install 'gpulint[server]'")
