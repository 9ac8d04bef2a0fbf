# SPDX-License-Identifier: Apache-2.0
import io
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, AnyStr, ClassVar, Final, Generic, Literal, Protocol, overload

from typing_extensions import Buffer, Self, TypeAlias

from purepy.errors import SeekableFormatError as SeekableFormatError
from purepy.errors import ZstdError as ZstdError
from purepy.errors import ZstdLimitError as ZstdLimitError
from purepy.zstd.format.parameters import CompressionParameter as CompressionParameter
from purepy.zstd.format.parameters import DecompressionParameter as DecompressionParameter
from purepy.zstd.format.parameters import FrameInfo as FrameInfo
from purepy.zstd.format.parameters import Strategy as Strategy
from purepy.zstd.format.scanner import Frame
from purepy.zstd.format.zdict import ZstdDict as ZstdDict
from purepy.zstd.seekable.inspecting import Verified
from purepy.zstd.seekable.table import SeekTable

_DictArgument: TypeAlias = ZstdDict | tuple[ZstdDict, int] | None
_CompressionOptions: TypeAlias = Mapping[int, int] | None
_DecompressionOptions: TypeAlias = Mapping[int, int] | None

class _Reader(Protocol):
    def read(self, n: int, /) -> Any: ...

class _Writer(Protocol):
    def write(self, data: bytes, /) -> Any: ...

_File: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes] | _Reader | _Writer
_Source: TypeAlias = Iterable[Buffer] | _Reader

class _SeekableReader(_Reader, Protocol):
    def seek(self, offset: int, whence: int = ..., /) -> int: ...

_Frames: TypeAlias = Buffer | str | PathLike[str] | _SeekableReader

class _Opening(Generic[AnyStr]):
    def __await__(self) -> Generator[Any, Any, _AsyncZstdFile[AnyStr]]: ...
    async def __aenter__(self) -> _AsyncZstdFile[AnyStr]: ...
    async def __aexit__(self, *failure: object) -> None: ...

class _AsyncZstdFile(Generic[AnyStr]):
    """
    A Zstandard file, binary or text, for asyncio; `async for` gives its lines, `chunks` its content in chunks.

    The methods are those of the file that `open` returns, to be awaited; each runs in a thread, one after the other.
    A task that is cancelled while it reads loses nothing: what it had read, and what its thread has begun to read,
    comes next. A write that was cancelled is done all the same.
    """
    async def read(self, size: int | None = -1, /) -> AnyStr:
        """Return up to `size` bytes (characters of a text file), or all that is left; empty at the end."""
    async def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes (128 KiB by default) with as few reads of the file as possible."""
    async def readline(self) -> AnyStr:
        """Return one line; empty at the end."""
    async def readlines(self, hint: int = -1, /) -> list[AnyStr]:
        """Return lines, all or until they have `hint` bytes."""
    async def peek(self, size: int = 0, /) -> bytes:
        """Return some of the bytes ahead without moving on."""
    def __aiter__(self) -> AsyncIterator[AnyStr]: ...
    def chunks(self, size: int = ...) -> AsyncIterator[AnyStr]:
        """Give the content in chunks of `size` bytes (characters of a text file), the last one smaller."""
    async def write(self, data: Buffer | AnyStr, /) -> int:
        """Write a buffer's bytes (a text file: a str) and return how many that was."""
    async def flush(self, *mode: int) -> None:
        """Compress and write what was held back; `mode` is that of ZstdFile.flush()."""
    async def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move to a position in the content and return it."""
    async def tell(self) -> int:
        """Return the position in the content."""
    async def close(self) -> None:
        """Write what was held back and close the file; may be called again. A task that is cancelled waits for it."""
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *failure: object) -> None: ...
    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
    @property
    def name(self) -> Any:
        """The name of the compressed file."""
    @property
    def mode(self) -> Any:
        """The mode of the file below."""
    def readable(self) -> bool:
        """Return whether the file is open for reading."""
    def writable(self) -> bool:
        """Return whether the file is open for writing."""
    def seekable(self) -> bool:
        """Return whether seek() works."""

COMPRESSION_LEVEL_DEFAULT: Final[int]
zstd_version: Final[str]
zstd_version_info: Final[tuple[int, int, int]]

def compress(
    data: Buffer,
    level: int | None = None,
    options: _CompressionOptions = None,
    zstd_dict: _DictArgument = None,
    *,
    threads: int | None = None,
    frame_size: int | None = None,
) -> bytes:
    """
    Compress a buffer and return the frame (replaces `compression.zstd.compress`).

    The frame's header has the content's size.

    Args:
        data (Buffer): the content.
        level (int | None): -131072 to 22; None and 0 stand for 3.
        options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
        threads (int | None): how many threads compress at a time, 0 for one per core; it then makes frames
            of `frame_size`. None for one frame.
        frame_size (int | None): bytes of content in each frame; None for 16 to 64 MiB, by the level.

    Raises TypeError and ValueError for wrong arguments, ZstdError for a corrupted dictionary and if libzstd fails.
    """

def compress_into(
    data: Buffer,
    buffer: Buffer,
    level: int | None = None,
    options: _CompressionOptions = None,
    zstd_dict: _DictArgument = None,
) -> int:
    """
    Compress a buffer into one frame at the start of a writable buffer; return the frame's size in bytes.

    Args:
        data (Buffer): the content.
        buffer (Buffer): where the frame goes; behind it nothing changes. From 128 KiB of content on,
            len(data) + len(data) // 255 + 64 bytes are always enough.
        level (int | None): -131072 to 22; None and 0 stand for 3.
        options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.

    Raises TypeError and ValueError for wrong arguments, ZstdError, with nothing written, if the frame does not fit.
    """

def decompress(
    data: Buffer,
    zstd_dict: _DictArgument = None,
    options: _DecompressionOptions = None,
    *,
    max_output_size: int | None = None,
    size_hint: int | None = None,
    threads: int | None = None,
) -> bytes:
    """
    Return the content of all frames of a buffer, one after the other (replaces `compression.zstd.decompress`).

    Args:
        data (Buffer): frames, one after the other; skippable ones give nothing.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
        options (Mapping[int, int] | None): values of DecompressionParameter.
        max_output_size (int | None): the most bytes of content, whatever the frames declare; ZstdLimitError
            beyond.
        size_hint (int | None): how many bytes to expect where the frames do not say; it changes the speed
            alone.
        threads (int | None): how many frames to decompress at a time, 0 for one per core; None for one.

    Raises TypeError and ValueError for wrong arguments, ZstdError for data that is cut, corrupted, followed by anything
    but a frame, or needs another dictionary or a larger window than allowed.
    """

def decompress_into(
    data: Buffer,
    buffer: Buffer,
    zstd_dict: _DictArgument = None,
    options: _DecompressionOptions = None,
) -> int:
    """
    Decompress all frames of a buffer to the start of a writable buffer; return the content's size in bytes.

    Args:
        data (Buffer): frames, one after the other; skippable ones give nothing.
        buffer (Buffer): where the content goes; behind it nothing changes.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
        options (Mapping[int, int] | None): values of DecompressionParameter.

    Raises ZstdError as `decompress` does, and ZstdLimitError if the content does not fit; what the buffer holds then is
    undefined.
    """

def compress_iter(
    chunks: _Source,
    level: int | None = None,
    options: _CompressionOptions = None,
    zstd_dict: _DictArgument = None,
    *,
    size: int | None = None,
    read_size: int = 131072,
    threads: int | None = None,
    frame_size: int | None = None,
) -> Iterator[bytes]:
    """
    Compress `chunks`, an iterable of buffers or a file object, into one frame; yield its bytes piece by piece.

    `level`, `options` and `zstd_dict` are those of `compress`. `size` is the content's size in bytes, if known:
    it is written into the header, and content of another size is a ZstdError. `read_size` is how much is read
    from a file object at a time. With `threads` or `frame_size` it makes several frames, as `compress` does; then
    `size` is that of all content, and in no header. Wrong arguments raise at the call, not at the first piece.
    """

def decompress_iter(
    chunks: _Source,
    zstd_dict: _DictArgument = None,
    options: _DecompressionOptions = None,
    *,
    max_output_size: int | None = None,
    read_size: int = 131072,
    write_size: int = 131072,
    threads: int | None = None,
) -> Iterator[bytes]:
    """
    Decompress `chunks`, an iterable of buffers or a file object, in pieces of at most `write_size` bytes.

    Goes over all frames. `zstd_dict` and `options` are those of `decompress`. Raises ZstdLimitError once there is
    more than `max_output_size` bytes, and ZstdError for data that is truncated, corrupted or no frame; pieces
    yielded before that are not to be taken for the whole. `read_size` is how much is read from a file object at
    a time. With several `threads` (0: one per core) frames are decompressed beside each other, and the source is
    read ahead; it is read in the caller's thread.
    """

def copy_stream(
    source: _Source,
    destination: _Writer,
    *,
    mode: Literal["compress", "decompress"] = "compress",
    level: int | None = None,
    options: Mapping[int, int] | None = None,
    zstd_dict: _DictArgument = None,
    size: int | None = None,
    max_output_size: int | None = None,
    read_size: int = 131072,
    write_size: int = 131072,
    progress: Callable[[int, int], Any] | None = None,
    threads: int | None = None,
    frame_size: int | None = None,
) -> tuple[int, int]:
    """
    Compress or decompress a source into a file object; return the bytes read and the bytes written.

    `source` is a file object or an iterable of buffers, `destination` an object with write(); `mode` is "compress"
    or "decompress", with the `options` and `zstd_dict` of that. `level` and `size` are for compressing,
    `max_output_size` and `write_size` for decompressing, as in `compress_iter` and `decompress_iter`; `threads` for
    both, `frame_size` for compressing. With several threads a plain file of the io module is read, and written, in
    larger pieces than `read_size` and `write_size`. `progress(read, written)` is called after each piece; an
    exception that it raises ends the copy. Neither file is closed. If it fails, what the destination holds is not
    whole: the frame has no end, so that a reader finds out. Raises BlockingIOError, whose `characters_written`
    counts the bytes written, if the destination would block, and OSError if it takes none.
    """

def register_shutil(
    *,
    tar: bool = True,
    zip: bool = True,
    level: int | None = None,
    options: _CompressionOptions = None,
    threads: int | None = None,
) -> None:
    """
    Let `shutil.make_archive` write "zstdtar", and `shutil.unpack_archive` read .tar.zst, .tzst and .zip with Zstandard.

    `tar` and `zip` choose which. `level`, `options` and `threads` are those of `cpkg.zstd.compress` for archives that
    are made, which appear whole or not at all; `threads` serves reading .tar.zst, too. What was registered for these
    formats is replaced, so it may be called again.
    Replaces `backports.zstd.register_shutil`, and what `shutil` of Python 3.14 has itself.
    """

async def acompress(
    data: Buffer,
    level: int | None = None,
    options: _CompressionOptions = None,
    zstd_dict: _DictArgument = None,
    *,
    threads: int | None = None,
    frame_size: int | None = None,
) -> bytes:
    """
    Compress a buffer in a thread and return the frame.

    `data`, `level`, `options`, `zstd_dict`, `threads`, `frame_size` and the errors are those of `compress`. The
    event loop is not held up, and a task that is cancelled ends at once; its thread does within a step of 1 MiB.
    The buffer may not change meanwhile.
    """

async def adecompress(
    data: Buffer,
    zstd_dict: _DictArgument = None,
    options: _DecompressionOptions = None,
    *,
    max_output_size: int | None = None,
    threads: int | None = None,
) -> bytes:
    """
    Decompress all frames of a buffer in a thread and return their content.

    `data`, `zstd_dict`, `options`, `max_output_size`, `threads` and the errors are those of `decompress`. The event
    loop is not held up, and a task that is cancelled ends at once; its thread does within a step of 1 MiB. The
    buffer may not change meanwhile.
    """

@overload
def aopen(
    file: _File,
    /,
    mode: _ReadMode | _WriteMode = "rb",
    *,
    level: int | None = None,
    options: Mapping[int, int] | None = None,
    zstd_dict: _DictArgument = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    threads: int | None = None,
    frame_size: int | None = None,
) -> _Opening[bytes]:
    """
    Open a Zstandard `file` for asyncio: `async with aopen(...) as file`, or `file = await aopen(...)`.

    `mode` and `more` are the arguments of `open`. Gives an AsyncZstdFile, whose methods are those of the file,
    awaited.
    """

@overload
def aopen(
    file: _File,
    /,
    mode: _ReadTextMode | _WriteTextMode,
    *,
    level: int | None = None,
    options: Mapping[int, int] | None = None,
    zstd_dict: _DictArgument = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    threads: int | None = None,
    frame_size: int | None = None,
) -> _Opening[str]: ...
def train_dict(samples: Iterable[Buffer], dict_size: int) -> ZstdDict:
    """
    Train a dictionary on samples (replaces `compression.zstd.train_dict`).

    Args:
        samples (Iterable[Buffer]): what the content will look like, 7 at least.
        dict_size (int): the most bytes of the dictionary, 256 at least.

    Raises TypeError and ValueError for wrong arguments and samples without data, ZstdError for too little to learn
    from.
    """

def finalize_dict(zstd_dict: ZstdDict, /, samples: Iterable[Buffer], dict_size: int, level: int) -> ZstdDict:
    """
    Return a dictionary of the given content, with tables for samples (replaces `compression.zstd.finalize_dict`).

    Args:
        zstd_dict (ZstdDict): the content, which is cut at its start if it does not fit.
        samples (Iterable[Buffer]): what the content will look like.
        dict_size (int): the most bytes of the dictionary, 256 at least.
        level (int): the level that it is meant for.

    Raises TypeError and ValueError for wrong arguments, ZstdError if no dictionary can be made of them.
    """

def get_frame_info(frame_buffer: Buffer) -> FrameInfo:
    """
    Return what the header of the frame at the start of `frame_buffer` says (replaces
    `compression.zstd.get_frame_info`).

    A skippable frame has a size and a dictionary id of 0. Raises ZstdError for what begins no frame, and for a header
    that is cut.
    """

def get_frame_size(frame_buffer: Buffer) -> int:
    """
    Return the size in bytes of the frame at the start of `frame_buffer`, header and checksum included.

    Nothing is decoded; what follows the frame does not matter. Raises ZstdError if the frame is not complete. Replaces
    `compression.zstd.get_frame_size`.
    """

def iter_frames(source: _Frames) -> Iterator[Frame]:
    """
    Yield the frames of bytes or of a file, with their blocks, without decompressing.

    `source` is a bytes-like object, a file's name (str or PathLike) or a binary file that can seek, which is read
    from its beginning. A frame has its offset and size, its header's fields (magic number, content size,
    window, dictionary id, checksum), the most that its blocks can hold, and its blocks, each with type, offset and
    size. Raises ZstdError for what is no frame, or not a whole one, behind the frames in front of it.
    """

def index_frames(source: _Frames, zstd_dict: _DictArgument = None, options: _DecompressionOptions = None) -> SeekTable:
    """
    Return the table of the frames of bytes or of a file, as a seekable file has it at its end, without checksums.

    `source` is that of `iter_frames`; only frames that do not declare their size are decompressed, with `zstd_dict`
    and `options` as `decompress` takes them. `to_bytes()` of the result makes a seekable file of the frames in
    front of it. Raises ZstdError for what is not whole frames, SeekableFormatError for a frame of 4 GiB or more.
    """

def verify(
    source: _Frames,
    zstd_dict: _DictArgument = None,
    options: _DecompressionOptions = None,
    *,
    threads: int | None = None,
    max_output_size: int | None = None,
) -> Verified:
    """
    Decompress bytes or a file without keeping anything, and return what was in it.

    `source` is that of `iter_frames`; `zstd_dict`, `options`, `threads` and `max_output_size` are those of
    `decompress_iter`. A file that ends with a seek table is read by it, in the calling thread: its sizes and
    checksums have to be those of the frames. Raises what decompressing would, ZstdError for data that is not whole
    frames and SeekableFormatError for a table that does not fit.
    """

class ZstdCompressor:
    """
    Compress data in pieces, into any number of frames (replaces `compression.zstd.ZstdCompressor`).

    Args:
        level (int | None): -131072 to 22; None and 0 stand for 3.
        options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.

    Raises TypeError and ValueError for wrong arguments, ZstdError for a dictionary that is corrupted.

    A call that goes against the pledged size changes nothing; any other that fails resets the compressor: `last_mode`
    is FLUSH_FRAME and the frame begun is lost. Calls from several threads wait for each other.
    """

    CONTINUE: ClassVar[Literal[0]]
    FLUSH_BLOCK: ClassVar[Literal[1]]
    FLUSH_FRAME: ClassVar[Literal[2]]
    def __init__(
        self,
        level: int | None = None,
        options: _CompressionOptions = None,
        zstd_dict: _DictArgument = None,
    ) -> None: ...
    @property
    def last_mode(self) -> Literal[0, 1, 2]:
        """The mode of the last call to `compress` or `flush` that succeeded; FLUSH_FRAME at first."""
    def compress(self, data: Buffer, mode: Literal[0, 1, 2] = 0) -> bytes:
        """
        Compress `data`, a buffer, and return the bytes that are ready, which may be none.

        `mode` is CONTINUE (0), FLUSH_BLOCK (1) or FLUSH_FRAME (2). Raises ValueError for another mode, ZstdError if the
        frame's size turns out other than pledged, which changes nothing, or if libzstd fails, which ends the frame.
        """
    def flush(self, mode: Literal[1, 2] = 2) -> bytes:
        """
        Return what is left of the data given so far.

        `mode` is FLUSH_FRAME (2), which ends the frame, or FLUSH_BLOCK (1); ValueError for another one. Raises
        ZstdError as `compress` does.
        """
    def set_pledged_input_size(self, size: int | None, /) -> None:
        """
        Promise the `size` of the next frame's content, in bytes, so that its header has it; None takes it back.

        It holds for one frame; a frame of another size raises ZstdError. Raises ValueError for a size below 0 or above
        2**64 - 3, and inside of a frame.
        """

class ZstdDecompressor:
    """
    Decompress a frame that comes in pieces (replaces `compression.zstd.ZstdDecompressor`).

    Args:
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
        options (Mapping[int, int] | None): values of DecompressionParameter.
        multi_frame (bool): go on from each frame to the next, skippable ones included. `eof` is then True
            whenever the input so far ends where a frame does, more may follow, and `unused_data` stays
            empty. A prefix (`ZstdDict.as_prefix`) goes before each frame. An error in a later frame is
            raised by the next call, after one that returned what the frames in front of it hold.

    Raises TypeError and ValueError for wrong arguments.

    An error resets the object; it can be used for another frame. Calls from several threads wait for each other.
    """
    def __init__(
        self,
        zstd_dict: _DictArgument = None,
        options: _DecompressionOptions = None,
        *,
        multi_frame: bool = False,
    ) -> None: ...
    @property
    def eof(self) -> bool:
        """Whether the end of the frame was reached, and all of its content returned (see `multi_frame`)."""
    @property
    def needs_input(self) -> bool:
        """Whether decompress() needs more data before it can return more."""
    @property
    def unused_data(self) -> bytes:
        """The bytes given behind the end of the frame; b"" before `eof`."""
    def decompress(self, data: Buffer, max_length: int = -1) -> bytes:
        """
        Return the content that `data` and earlier input decode to, `max_length` bytes at most unless it is negative.

        What could not be decoded or returned yet is kept for the next call, which may be given b""; `needs_input` is
        False if there is more to return. Raises EOFError after the end of the frame and ZstdError for data that is not
        Zstandard, is corrupted, or needs another dictionary or a larger window than allowed.
        """

_ReadMode: TypeAlias = Literal["r", "rb"]
_WriteMode: TypeAlias = Literal["w", "wb", "x", "xb", "a", "ab"]
_ReadTextMode: TypeAlias = Literal["rt"]
_WriteTextMode: TypeAlias = Literal["wt", "xt", "at"]

class ZstdFile(io.BufferedIOBase):
    """
    A Zstandard file, open in binary mode for reading or for writing (replaces `compression.zstd.ZstdFile`).

    Args:
        file (str | bytes | PathLike | file object): a name, which is opened, or an object with read() or
            write(), which close() leaves open.
        mode (str): "r", "w", "x" or "a", with or without "b".
        level (int | None): for writing, -131072 to 22; None and 0 stand for 3.
        options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`; for
            reading, of DecompressionParameter.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
        threads (int | None): how many frames to work on at a time, 0 for one per core. Given this or
            `frame_size`, a file is written in several frames, and flush() ends one.
        frame_size (int | None): bytes of content in each frame that is written; None for 16 to 64 MiB, by
            the level.

    Raises ValueError for another mode, TypeError for other wrong arguments; reading raises EOFError for a file that is
    empty or ends inside a frame and ZstdError for one that is no Zstandard file.

    Reading goes over all frames of the file. Small writes are gathered, so data reaches the underlying file with
    flush() and close(), or when enough has come together.
    """

    FLUSH_BLOCK: ClassVar[Literal[1]]
    FLUSH_FRAME: ClassVar[Literal[2]]
    @overload
    def __init__(
        self,
        file: _File,
        /,
        mode: _ReadMode = "r",
        *,
        level: None = None,
        options: _DecompressionOptions = None,
        zstd_dict: _DictArgument = None,
        threads: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        file: _File,
        /,
        mode: _WriteMode,
        *,
        level: int | None = None,
        options: _CompressionOptions = None,
        zstd_dict: _DictArgument = None,
        threads: int | None = None,
        frame_size: int | None = None,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def write(self, data: Buffer, /) -> int:
        """Write the bytes of `data`, a buffer, and return how many they are; the class says when they get there."""
    def flush(self, mode: Literal[1, 2] = 1) -> None:
        """
        Compress and write what was held back; does nothing while reading.

        FLUSH_BLOCK lets a reader have all data written so far, FLUSH_FRAME ends the frame besides; both cost
        compression. Any other mode is a ValueError. os.fsync() is for the caller to do.
        """
    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes of content, or all that is left; b"" at the end."""
    def read1(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes (128 KiB by default) with as few reads of the file as possible; b"" at the end."""
    def readinto(self, buffer: Buffer, /) -> int:
        """Fill a writable buffer and return how many bytes it has got; 0 at the end."""
    def readinto1(self, buffer: Buffer, /) -> int:
        """Fill a writable buffer as far as one read of the file goes; return the number of bytes, 0 at the end."""
    def readline(self, size: int | None = -1, /) -> bytes:
        """Read one line, at most `size` bytes of it; b"" at the end."""
    def peek(self, size: int = 0, /) -> bytes:
        """Return some of the bytes ahead, at least one unless at the end, without moving on; `size` changes nothing."""
    @property
    def name(self) -> Any:
        """The name of the compressed file."""
    @property
    def mode(self) -> Literal["rb", "wb"]:
        """What the file is open for: "wb" or "rb"."""

class SeekableZstdFile(ZstdFile):
    """
    A file of the Zstandard seekable format, open in binary mode for reading or for writing.

    `filename` is a name (str, bytes or a path) or a binary file object; to read, one that can seek; to append ("a"), a
    name. `level_or_option` is a level or a dict of CompressionParameter when writing, a dict of DecompressionParameter
    when reading, `zstd_dict` what ZstdFile takes. A frame ends when its content has `max_frame_content_size` bytes, and
    by flush(FLUSH_FRAME): any position is reached by decompressing one frame from its beginning. `read_size` and
    `write_size` have no effect.

    Beyond pyzstd: the table has checksums, unless `checksums` is false; reading, frames are held to them and to their
    sizes. With `scan=True` a file whose table is missing or damaged, or any file of frames, is gone over for its
    frames. `index` names a file that keeps what was found, and is used as long as it fits; True stands for the file's
    name and ".seek".

    Raises SeekableFormatError for a file without a table, or whose table is damaged or does not fit the frames,
    ZstdError for damaged frames, ValueError and TypeError for wrong arguments. Replaces `pyzstd.SeekableZstdFile`.
    """

    FRAME_MAX_C_SIZE: ClassVar[int]
    FRAME_MAX_D_SIZE: ClassVar[int]
    def __init__(
        self,
        filename: _File,
        mode: _ReadMode | _WriteMode = "r",
        *,
        level_or_option: int | Mapping[int, int] | None = None,
        zstd_dict: _DictArgument = None,
        read_size: int = 131075,
        write_size: int = 131591,
        max_frame_content_size: int = 1073741824,
        checksums: bool = True,
        scan: bool = False,
        index: bool | str | bytes | PathLike[str] | PathLike[bytes] | None = None,
    ) -> None: ...
    def write(self, data: Buffer) -> int:
        """Write the bytes of `data`, a buffer, and return how many they are."""
    @property
    def seek_table_info(self) -> tuple[int, int, int] | None:
        """
        The number of frames, their size and that of their content, in bytes; None once the file is closed.

        The table itself, and what is in no whole frame yet, are not counted.
        """
    @staticmethod
    def is_seekable_format_file(filename: str | bytes | PathLike[str] | PathLike[bytes] | _SeekableReader) -> bool:
        """
        Return whether a file ends with a table that fits it, or has 0 bytes; `filename` is its name or a file object.

        A file object stays where it was. Raises TypeError for an object that is neither.
        """

@overload
def open(
    file: _File,
    /,
    mode: _ReadMode = "rb",
    *,
    level: None = None,
    options: _DecompressionOptions = None,
    zstd_dict: _DictArgument = None,
    encoding: None = None,
    errors: None = None,
    newline: None = None,
    threads: int | None = None,
) -> ZstdFile:
    """
    Open a Zstandard file in binary or text mode (replaces `compression.zstd.open`).

    Args:
        file (str | bytes | PathLike | file object): a name, which is opened, or an object with read() or
            write(), which close() leaves open.
        mode (str): "r", "w", "x" or "a", with or without "b"; or with "t", for an io.TextIOWrapper in place
            of a ZstdFile.
        level (int | None): for writing, -131072 to 22; None and 0 stand for 3.
        options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`; for
            reading, of DecompressionParameter.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
        encoding (str | None): of text; None as for the builtin `open`. ValueError in binary mode, as for
            the next two.
        errors (str | None): what to do with text that does not fit the encoding.
        newline (str | None): the ends of lines.
        threads (int | None): how many frames to work on at a time, 0 for one per core. Given this or
            `frame_size`, a file is written in several frames, and flush() ends one.
        frame_size (int | None): bytes of content in each frame that is written; None for 16 to 64 MiB, by
            the level.

    Raises ValueError for another mode, TypeError for other wrong arguments; reading raises EOFError for a file that
    is empty or ends inside a frame and ZstdError for one that is no Zstandard file.
    """

@overload
def open(
    file: _File,
    /,
    mode: _WriteMode,
    *,
    level: int | None = None,
    options: _CompressionOptions = None,
    zstd_dict: _DictArgument = None,
    encoding: None = None,
    errors: None = None,
    newline: None = None,
    threads: int | None = None,
    frame_size: int | None = None,
) -> ZstdFile: ...
@overload
def open(
    file: _File,
    /,
    mode: _ReadTextMode,
    *,
    level: None = None,
    options: _DecompressionOptions = None,
    zstd_dict: _DictArgument = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    threads: int | None = None,
) -> io.TextIOWrapper: ...
@overload
def open(
    file: _File,
    /,
    mode: _WriteTextMode,
    *,
    level: int | None = None,
    options: _CompressionOptions = None,
    zstd_dict: _DictArgument = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    threads: int | None = None,
    frame_size: int | None = None,
) -> io.TextIOWrapper: ...
