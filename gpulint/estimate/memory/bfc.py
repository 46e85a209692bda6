"""TensorFlow's allocator for GPUs, best-fit with coalescing, played without memory.

Follows `xla/tsl/framework/bfc_allocator.cc` of TensorFlow 2.21. What a program holds is counted in chunks, and a chunk
is up to twice as large as what was asked for: that, and the regions that double, is what users see as memory that
nobody asked for.
"""

from __future__ import annotations

from bisect import bisect_left, insort

ROUNDING = 256
"""Bytes that each allocation is rounded up to (`kMinAllocationSize`)."""

_BINS = 21
"""Bins of free chunks; bin `i` has those of at least 256 << i bytes (`kNumBins`)."""

_FRAGMENT = 128 << 20
"""A chunk is split if it is larger than what is asked for by this many bytes, or twice as large
(`kMaxInternalFragmentation`)."""

_FIRST_REGION = 2 << 20
"""Bytes of the first region with memory growth."""


class Exhausted(Exception):
    """An allocation does not fit."""


def rounded(size: int) -> int:
    """Bytes that an allocation takes at least."""
    return max(1, -(-size // ROUNDING)) * ROUNDING


class Chunk:
    """A piece of a region, in use or free."""

    __slots__ = ("address", "asked", "following", "is_free", "preceding", "size")

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size, self.is_free = address, size, True
        self.asked = 0
        self.preceding: Chunk | None = None
        self.following: Chunk | None = None

    def __lt__(self, other: Chunk) -> bool:
        return (self.size, self.address) < (other.size, other.address)


class Bfc:
    """An allocator with `limit` bytes, None for no limit. With `grows`, regions are added as they are needed
    (`set_memory_growth`); otherwise there is one region of all the memory."""

    def __init__(self, limit: int | None = None, grows: bool = True) -> None:
        self._limit = limit
        self._bins: list[list[Chunk]] = [[] for _ in range(_BINS)]
        self._next_region = _FIRST_REGION if grows or limit is None else limit
        self._end = 0
        self.regions = 0
        """Bytes of all regions: the part of the GPU's memory that the process has reserved."""
        self.in_use = 0
        """Bytes of the chunks in use."""
        self.asked = 0
        """Bytes that were requested for the chunks in use, rounded. Chunks can be larger than requested."""

    def allocate(self, size: int) -> Chunk:
        """A chunk of at least `size` bytes. Raises Exhausted."""
        needed = rounded(size)
        found = self._find(needed)
        if found is None:
            self._extend(needed)
            found = self._find(needed)
            if found is None:
                raise Exhausted(needed)
        if found.size >= 2 * needed or found.size - needed >= _FRAGMENT:
            self._split(found, needed)
        found.is_free, found.asked = False, needed
        self.in_use += found.size
        self.asked += needed
        return found

    def free(self, chunk: Chunk) -> None:
        """Free a chunk, and merge it with free neighbours."""
        self.in_use -= chunk.size
        self.asked -= chunk.asked
        chunk.is_free = True
        if (after := chunk.following) is not None and after.is_free:
            self._remove(after)
            self._merge(chunk, after)
        if (before := chunk.preceding) is not None and before.is_free:
            self._remove(before)
            self._merge(before, chunk)
            chunk = before
        self._add(chunk)

    def _find(self, needed: int) -> Chunk | None:
        """Take the smallest free chunk of at least `needed` bytes out of its bin; None if there is none."""
        wanted = Chunk(-1, needed)
        for chunks in self._bins[_bin(needed) :]:
            position = bisect_left(chunks, wanted)
            if position < len(chunks):
                return chunks.pop(position)
        return None

    def _extend(self, needed: int) -> None:
        """Reserve another region, of at least `needed` bytes. Raises Exhausted."""
        available = None if self._limit is None else self._limit - self.regions
        if available is not None and needed > available:
            raise Exhausted(needed)
        is_larger = False
        while needed > self._next_region:
            self._next_region *= 2
            is_larger = True
        size = self._next_region if available is None else min(self._next_region, available)
        if not is_larger:
            self._next_region *= 2
        self._add(Chunk(self._end, size))
        self._end += 2 * size  # leave a gap: chunks of different regions are no neighbours
        self.regions += size

    def _split(self, chunk: Chunk, size: int) -> None:
        rest = Chunk(chunk.address + size, chunk.size - size)
        chunk.size = size
        rest.preceding, rest.following = chunk, chunk.following
        if rest.following is not None:
            rest.following.preceding = rest
        chunk.following = rest
        self._add(rest)

    def _merge(self, chunk: Chunk, after: Chunk) -> None:
        chunk.size += after.size
        chunk.following = after.following
        if after.following is not None:
            after.following.preceding = chunk

    def _add(self, chunk: Chunk) -> None:
        insort(self._bins[_bin(chunk.size)], chunk)

    def _remove(self, chunk: Chunk) -> None:
        chunks = self._bins[_bin(chunk.size)]
        del chunks[bisect_left(chunks, chunk)]


def _bin(size: int) -> int:
    return min(_BINS - 1, (size // ROUNDING).bit_length() - 1)
