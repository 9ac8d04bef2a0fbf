# SPDX-License-Identifier: Apache-2.0
"""
Zstandard for asyncio: the work runs in the threads of a Crew, one Crew per loop, in steps of 1 MiB.

Between steps, the work checks whether its task was cancelled. Long calls of C release the GIL, so that Python code of
the event loop can run meanwhile. A large output is joined in steps as well.
"""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Callable

from purepy.base.buffers import memory_of
from purepy.zstd.aio.file import Opening
from purepy.zstd.aio.work import STEP, in_thread, joined
from purepy.zstd.format.backend_methods import BackendMethods
from purepy.zstd.format.chunks import sliceable

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Parameters
    from purepy.zstd.format.zdict import DictArgument


def _steps(data: Buffer, check: Callable[[], None]) -> Iterator[object]:
    view = sliceable(data)
    for start in range(0, len(view), STEP):
        check()
        yield view[start : start + STEP]


def _all(pieces: Generator[bytes, None, None], check: Callable[[], None]) -> bytes:
    try:
        return joined(pieces, check)
    finally:
        pieces.close()


class AsyncFunctions(BackendMethods):
    """The functions of one backend for asyncio."""

    async def acompress(
        self,
        data: Buffer,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
        *,
        threads: int | None = None,
        frame_size: int | None = None,
    ) -> bytes:
        """
        Compress a buffer in a thread and return one frame, or several as `compress` does.

        `data`, `level`, `options`, `zstd_dict`, `threads`, `frame_size` and the errors are as in `compress`. The
        event loop is not blocked. A cancelled task ends at once; its thread ends within a step of 1 MiB. The buffer
        must not change before the thread has ended.
        """
        backend = self._backend
        with memory_of(data) as view:
            size = view.nbytes

        def work(check: Callable[[], None]) -> bytes:
            pieces = backend.compress_iter(
                _steps(data, check), level, options, zstd_dict, size=size, threads=threads, frame_size=frame_size
            )
            return _all(pieces, check)

        return await in_thread(work)

    async def adecompress(
        self,
        data: Buffer,
        zstd_dict: DictArgument = None,
        options: Parameters = None,
        *,
        max_output_size: int | None = None,
        threads: int | None = None,
    ) -> bytes:
        """
        Decompress all frames of a buffer in a thread and return their content.

        `data`, `zstd_dict`, `options`, `max_output_size`, `threads` and the errors are as in `decompress`. The event
        loop is not blocked. A cancelled task ends at once; its thread ends within a step of 1 MiB. The buffer must not
        change before the thread has ended.
        """
        backend = self._backend
        memory_of(data).release()

        def work(check: Callable[[], None]) -> bytes:
            pieces = backend.decompress_iter(
                _steps(data, check),
                zstd_dict,
                options,
                max_output_size=max_output_size,
                write_size=STEP,
                threads=threads,
            )
            return _all(pieces, check)

        return await in_thread(work)

    def aopen(self, file: object, /, mode: str = "rb", **more: Any) -> Opening:
        """
        Open a Zstandard `file` for asyncio: `async with aopen(...) as file`, or `file = await aopen(...)`.

        `mode` and the keyword arguments `more` are as in `open`. The opened file is an AsyncZstdFile: its methods
        that read, write, seek, tell, flush or close must be awaited.
        """
        opener = functools.partial(self._backend.open, file, mode, **more)
        return Opening(opener, more.get("newline"))
