# SPDX-License-Identifier: Apache-2.0
"""The groups of the benchmark matrix: a small file of cells for each."""

ORDER = {
    "MessagePack": "messagepack",
    "MessagePack streaming": "streaming",
    "Value types": "values",
    "Typed": "typed",
    "Arrays": "arrays",
    "dumps and loads": "jobs",
    "Zstandard one-shot": "zstd",
    "Zstandard with a dictionary": "dictionary",
    "Zstandard streams": "streams",
    "Drop-in for zstandard": "dropin",
    "File input and output": "files",
    "Archives": "archives",
    "Records": "records",
    "Signer: serializers": "signer",
    "Signer: compressors": "signer",
    "Signer: instance": "signer",
    "Two threads": "threads",
    "Ready at once": "ready",
    "Whole programs": "programs",
    "Peak memory": "memory",
}
"""The names of the groups in the order of the report, and the module of each."""
