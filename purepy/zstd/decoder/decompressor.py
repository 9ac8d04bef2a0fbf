# SPDX-License-Identifier: Apache-2.0
"""Decompression in pieces and of whole buffers: a FrameDecoder decodes each frame in turn."""

from __future__ import annotations

import sys

from purepy.base.buffers import as_bytes, check_writable, memory_of
from purepy.base.errors import ZstdError
from purepy.zstd.decoder.frame_decoder import FrameDecoder, Input, Settings
from purepy.zstd.format.decompressor_base import DecompressorBase
from purepy.zstd.format.error_codes import limit_error, truncated_error
from purepy.zstd.format.rules import BLOCK_SIZE_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from purepy.base.types import Buffer, Parameters
    from purepy.zstd.format.zdict import DictArgument


class ZstdDecompressor(DecompressorBase):
    __doc__ = DecompressorBase.__doc__
    __slots__ = (
        "__weakref__",
        "_decoder",
        "_ended",
        "_failure",
        "_input",
        "_output",
        "_output_at",
    )

    _settings: Settings
    _settings_type: Callable[..., Settings] = Settings
    _frame_decoder = FrameDecoder
    _readable = staticmethod(as_bytes)

    def _checked(self, zstd_dict: DictArgument, options: Parameters) -> Settings:
        return self._settings_type(zstd_dict, options)

    def _start(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._input = Input()
        self._decoder: FrameDecoder | None = None
        self._failure: ZstdError | None = None
        self._ended = False
        self._output = b""
        self._output_at = 0
        self._eof = False
        self._needs_input = True

    def _memory_size(self) -> int:
        """Return about how many bytes decoding uses now: a block, and the window of the current frame."""
        window = None if self._decoder is None else self._decoder._window
        return BLOCK_SIZE_MAX + (0 if window is None else len(window.data))

    @property
    def _at_start(self) -> bool:
        """Whether the object is between frames, and has returned all content of the earlier frames."""
        return self._decoder is None and not self._output

    @property
    def unused_data(self) -> bytes:
        """The bytes that followed the end of the frame; b"" before `eof`, and always with `multi_frame`."""
        with self._turn():
            result = self._input.rest() if self._eof and not self._multi_frame else b""
            return result

    def _decompress(self, data: bytes, limit: int) -> bytes:
        try:
            return self._decode(data, limit)
        except BaseException:
            self._reset()
            raise

    def _decode(self, piece: bytes, max_length: int) -> bytes:
        source = self._input
        source.push(piece)
        if self._multi_frame and source.available and not self._output:
            self._ended = False
        if self._failure is not None:
            if max_length:
                raise self._failure
            return b""
        pieces: list[bytes] = []
        hold = max_length < 0
        room = sys.maxsize if hold else max_length
        if self._output:
            room = self._give(pieces, self._output, self._output_at, room)
        whole = len(pieces) if self._decoder is None else 0  # the number of pieces that are from complete frames
        # Continue even after exactly `max_length` bytes: only the next step shows whether the frame ends there.
        while not self._output:
            decoder = self._decoder
            if decoder is None:
                if not source.available or (self._ended and not self._goes_on):
                    break
                decoder = self._decoder = self._frame_decoder(self._settings, source)
                self._ended = False
            try:
                output = decoder.step(hold)
            except ZstdError as exc:
                if room:
                    del pieces[whole if self._multi_frame else 0 :]
                content = b"".join(pieces)
                if not content:
                    raise
                self._failure = exc.with_traceback(None)  # the traceback would keep its frames alive
                self._eof = self._needs_input = False
                return content
            if output:
                room = self._give(pieces, output, 0, room)
            if hold and (output is None or decoder.done):
                rest = decoder.rest()
                if rest:
                    pieces.append(rest)
            if output is None:
                break
            if decoder.done:
                self._decoder = None
                self._ended = True
                whole = len(pieces)
        self._eof = self._ended and not self._output and not (self._multi_frame and source.available)
        if self._eof:
            self._needs_input = self._multi_frame
        else:
            # at the end of one of several frames, there may be input for the next one
            self._needs_input = not self._output and room > 0 and not (self._ended and source.available)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _give(self, pieces: list[bytes], output: bytes, at: int, room: int) -> int:
        """Add up to `room` bytes of `output[at:]` to `pieces` and keep the rest for later; return the room left."""
        size = len(output) - at
        if size <= room:
            pieces.append(output[at:] if at else output)
            self._output, self._output_at = b"", 0
            return room - size
        if room:
            pieces.append(output[at : at + room])
        self._output, self._output_at = output, at + room
        return 0


def decode_all(
    data: Buffer,
    settings: Settings,
    limit: int | None,
    limit_name: str,
    frame_decoder: type[FrameDecoder] = FrameDecoder,
) -> list[bytes]:
    """
    Decode all frames in `data`; return their content in pieces.

    Raises ZstdLimitError, which mentions `limit_name`, for more than `limit` bytes of content (None: no limit), and
    ZstdError for damaged, truncated or empty data.
    """
    source = Input()
    source.push(as_bytes(data))
    pieces: list[bytes] = []
    size = 0
    while True:
        decoder = frame_decoder(settings, source)
        while not decoder.done:
            output = decoder.step(hold=True)
            if output is None:
                raise truncated_error(source.offset + source.at + source.available)
            if limit is not None and size + decoder.produced > limit:
                raise limit_error(f"{limit_name} ({limit} bytes)", source.offset + source.at)
            if output:
                pieces.append(output)
        rest = decoder.rest()
        if rest:
            pieces.append(rest)
        size += decoder.produced
        if not source.available:
            return pieces


def fill(buffer: Buffer, data: Buffer, settings: Settings, frame_decoder: type[FrameDecoder] = FrameDecoder) -> int:
    """
    Decompress to the start of a writable buffer; return the content's size in bytes.

    Raises ZstdLimitError if the buffer is too small, ZstdError for damaged data, TypeError for a read-only buffer, and
    BufferError for one that is not C-contiguous. After an error, nothing has been written.
    """
    with memory_of(buffer) as whole:
        check_writable(whole, buffer)
        pieces = decode_all(data, settings, whole.nbytes, "the buffer", frame_decoder)
        if not whole.nbytes:
            return 0
        at = 0
        with whole.cast("B") as view:
            for piece in pieces:
                view[at : at + len(piece)] = piece
                at += len(piece)
        return at
