"""The secret that binds cache records to the user who wrote them."""

from __future__ import annotations

import os

from gpulint.sources.reading import read_file

KEY_BYTES = 32


class NoKey(Exception):
    """The key can be neither read nor created. The message is one line."""


def secret() -> bytes:
    """Key of this user, `KEY_BYTES` random bytes in the user's own cache directory, created on first use.

    The author of a repository does not have it, so that records committed there are ignored. Raises NoKey.
    """
    from platformdirs import user_cache_dir

    path = os.path.join(user_cache_dir("gpulint", appauthor=False), "key")
    if not os.path.isabs(path):
        raise NoKey(f"{path}: your cache directory has a relative path")
    try:
        try:
            found = read_file(path)
        except FileNotFoundError:
            _create(path)
            found = read_file(path)
    except OSError as error:
        raise NoKey(f"{path}: {error.strerror or error}") from None
    if len(found) != KEY_BYTES:
        raise NoKey(f"{path}: is not {KEY_BYTES} bytes long; delete it")
    return found


def _create(path: str) -> None:
    """Create the key, unless another run does so first."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.urandom(8).hex()}"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(os.urandom(KEY_BYTES))
    try:
        if os.name == "nt":
            os.rename(temporary, path)  # fails if the target exists
        else:
            os.link(temporary, path)
            os.unlink(temporary)
    except FileExistsError:
        os.unlink(temporary)
