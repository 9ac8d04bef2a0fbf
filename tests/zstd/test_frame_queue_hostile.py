# SPDX-License-Identifier: Apache-2.0
"""Queues of frames in C: calls that are repeated, omitted or interrupted damage no frame."""

from __future__ import annotations

import os
from typing import Any

import pytest
from seeds import noise

from cpkg import _backend, zstd

CONTENTS = [b"%d, " % number * 5000 for number in range(40)]


@pytest.fixture
def backend() -> Any:
    """The Zstandard backend under test, if it has C threads."""
    module = _backend.choose("zstd").module
    if module.compressing_queue is None:
        pytest.skip("this backend of Zstandard has no threads of C")
    return module


def test_calls_that_are_repeated(backend: Any) -> None:
    """A caller that is interrupted right after a C call makes the call again."""
    queue = backend.compressing_queue({}, None, 3)
    for _ in range(5):
        jobs = []
        for content in CONTENTS:
            queue.begin()
            queue.begin()
            job = queue.job()
            job.put(0, content)
            job.put(0, content)
            queue.submit(job, len(content))
            queue.submit(job, len(content))
            jobs.append(job)
        for job, content in zip(jobs, CONTENTS):
            queue.wait(job)
            assert zstd.decompress(queue.wait(job)[:]) == content
            queue.submit(job, 0)
            assert zstd.decompress(queue.wait(job)[:]) == content
            queue.back(job)
            queue.back(job)
            pytest.raises(ValueError, queue.wait, job).match("given back")
    queue.close()
    queue.close()


def test_jobs_dropped_at_work(backend: Any) -> None:
    """Their memory is not reused for another frame before the thread is done with it."""
    queue = backend.compressing_queue({}, None, 3)
    queue.begin()
    for number in range(300):
        content = CONTENTS[number % len(CONTENTS)]
        job = queue.job()
        job.put(0, content)
        queue.submit(job, len(content))
        if number % 3:
            queue.back(job)
        else:
            assert zstd.decompress(queue.wait(job)[:]) == content
    left = queue.job()
    left.put(0, b"never submitted")
    assert bytes(left.input(5)) == b"never"
    assert queue.wait(left) is None
    queue.close()
    assert queue.wait(left) is None
    pytest.raises(ValueError, left.input, 5).match("closed")


def test_a_job_is_not_changed_at_work(backend: Any) -> None:
    queue = backend.compressing_queue({}, None, 0)
    job = queue.job()
    job.put(0, b"content")
    queue.submit(job, 7)  # no thread has started, so the job waits
    for call in (lambda: job.put(0, b"other"), lambda: job.read_frames(0, [0, 5, 5]), lambda: queue.expect(job, 5)):
        pytest.raises(RuntimeError, call).match("already submitted")
    assert not job.make(1, 1, 1, 1)
    assert zstd.decompress(queue.wait(job)[:]) == b"content"  # the caller has run it
    queue.close()


@pytest.mark.skipif(not hasattr(os, "pread"), reason="the system has no pread")
def test_each_job_has_its_own_descriptor(backend: Any, tmp_path: Any) -> None:
    """Closing the file and opening another one does not affect waiting jobs."""
    frame = zstd.compress(CONTENTS[0])
    (tmp_path / "a").write_bytes(frame)
    (tmp_path / "b").write_bytes(bytes(len(frame)))
    queue = backend.decompressing_queue(None, 0)
    job = queue.job()
    descriptor = os.open(tmp_path / "a", os.O_RDONLY)
    job.read_frames(descriptor, [0, len(frame), len(CONTENTS[0])])
    os.close(descriptor)
    other = os.open(tmp_path / "b", os.O_RDONLY)
    queue.submit(job, 0)
    os.close(other)
    assert bytes(queue.wait(job)) == CONTENTS[0]
    queue.close()


@pytest.mark.skipif(not hasattr(os, "pread"), reason="the system has no pread")
def test_several_frames_by_one_job(backend: Any, tmp_path: Any) -> None:
    """Frames near each other and far apart; only damaged, truncated, missized or misordered ones fail."""
    options = {zstd.CompressionParameter.checksum_flag: 1}
    data, numbers = bytearray(), []
    for number, content in enumerate(CONTENTS):
        data += noise((0, 7, 100_000)[number % 3])
        frame = zstd.compress(content, options=options)
        numbers.append((len(data), len(frame), len(content)))
        data += frame
    path = tmp_path / "frames"
    path.write_bytes(data)

    def output(job: Any, chosen: list[tuple[int, int, int]]) -> Any:
        for _ in range(2):  # an interrupted caller makes a call again
            job.read_frames(file.fileno(), [number for place in chosen for number in place])
        for _ in range(2):
            queue.submit(job, 0)
        found = queue.wait(job)
        return None if found is None else bytes(found)

    queue = backend.decompressing_queue(None, 3)
    queue.begin()
    for chosen in (slice(None), slice(3, 4), slice(None, None, 5)):
        with open(path, "rb") as file:
            job = queue.job()
            assert output(job, numbers[chosen]) == b"".join(CONTENTS[chosen])
            queue.back(job)
    job = queue.job()
    with open(path, "rb") as file:
        for wrong in ([(0, -1, 5)], [(0, 5, -1)], [(-1, 5, 5)], [(2**63 - 1, 5, 5)], [numbers[1], numbers[0]]):
            pytest.raises(MemoryError, job.read_frames, file.fileno(), [number for place in wrong for number in place])
        start, size, content = numbers[5]
        for wrong in ([(start, size, content + 1)], [(start, size - 1, content)], [(len(data), 5, 5)]):
            job = queue.job()
            assert output(job, [*numbers[:5], *wrong]) is None
            queue.back(job)
    data[numbers[20][0] + numbers[20][1] - 1] ^= 1  # the checksum
    path.write_bytes(data)
    with open(path, "rb") as file:
        for chosen, is_sound in ((slice(18, 23), False), (slice(21, 23), True)):
            job = queue.job()
            assert (output(job, numbers[chosen]) == b"".join(CONTENTS[chosen])) is is_sound
            queue.back(job)
        job = queue.job()  # a job that had several frames now has one
        frame = zstd.compress(CONTENTS[0])
        job.read_frames(file.fileno(), list(numbers[3]))
        job.put(0, frame)
        queue.expect(job, len(CONTENTS[0]))
        queue.submit(job, len(frame))
        assert bytes(queue.wait(job)) == CONTENTS[0]
    queue.close()
