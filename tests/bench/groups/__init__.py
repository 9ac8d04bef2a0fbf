# SPDX-License-Identifier: Apache-2.0
"""The groups of the benchmark matrix: a small file of cells for each."""

ORDER = (
    "MessagePack",
    "MessagePack streaming",
    "Value types",
    "Typed",
    "Arrays",
    "dumps and loads",
    "Zstandard one-shot",
    "Zstandard with a dictionary",
    "Zstandard streams",
    "Drop-in for zstandard",
    "File input and output",
    "Archives",
    "Records",
    "Signer: serializers",
    "Signer: compressors",
    "Signer: instance",
    "Two threads",
    "Ready at once",
    "Whole programs",
    "Peak memory",
)
"""The names of the groups in the order of the report."""
