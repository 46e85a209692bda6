"""Tests of the server need the extra `server`."""

import pytest

pytest.importorskip("pygls", reason="pip install pygls")
