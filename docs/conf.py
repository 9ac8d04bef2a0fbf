# SPDX-License-Identifier: Apache-2.0
"""Configure Sphinx, which builds the documentation site from these pages and the docstrings: `tox run -e docs`."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

from sphinx.util import logging

DOCS = Path(__file__).parent
ROOT = DOCS.parent
# the pure codec's functions of MessagePack have annotations; Zstandard, of whichever backend, has a stub
os.environ["CPKG_MSGPACK_BACKEND"] = "pure"

from cpkg._version import VERSION  # noqa: E402

project = "cpkg"
author = "the cpkg authors"
release = version = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
# the button copies the code of an example, without prompts and output
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
exclude_patterns = ["_build"]
# a dead link, a missing name or a page outside of every toctree is an error (sphinx-build -W)
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types in signatures lead to other projects, whose pages are not here
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]

# libraries that some modules serve; reading the modules does not need them
autodoc_mock_imports = [
    *("blake2signer", "channels_redis", "dask", "distributed", "django", "django_redis", "fastapi", "fsspec", "kombu"),
    *("numpy", "pandas", "pyarrow", "starlette"),
]
autodoc_typehints = "signature"
# docstrings have code in single backticks, as the pages have
default_role = "code"
autodoc_default_options = {
    "members": True,
    # what the interpreter's own classes have is described by its own pages
    "inherited-members": "object,BaseException,_IOBase,IOBase,TextIOWrapper,Enum,int,tuple,dict",
}

html_theme = "furo"
html_title = f"cpkg {VERSION}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

# pages of the repository's root that are also pages of the site
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
}
# pages whose subpages are the files of their folder
BELOW = {
    "notebook/README": ("*",),
    "benchmarks/README": ("*",),
}


def links_inside(app: Any, page: str, source: list[str]) -> None:
    """Turn links to files of the repository into links to pages of the site, or into plain text if there is no page."""
    depth = page.count("/")

    def replaced(match: re.Match[str]) -> str:
        text, link = match.groups()
        name, _, anchor = link.partition("#")
        path = (DOCS / page).parent / name
        target = Path(os.path.normpath(path))
        if "://" in link or not name or DOCS in target.parents:
            return match[0]
        inside = ELSEWHERE.get(str(target.relative_to(ROOT)))
        if inside is None:
            return text
        return f"[{text}]({'../' * depth}{inside}{'#' + anchor if anchor else ''})"

    source[0] = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", replaced, source[0])
    for below in BELOW.get(page, ()):
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{below}\n```\n"


def _aliases(stub: ast.Module) -> dict[str, str]:
    """Return a text for each type alias of a stub: the definition if it is short, else the name."""
    found = {}
    for node in stub.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            text = ast.unparse(node.value)
            found[node.target.id] = text if len(text) < 50 else node.target.id.lstrip("_")
    return found


def _functions(stub: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions and methods of a stub that have one signature, by their names in it."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for node in stub.body:
        inner = [(f"{node.name}.", each) for each in node.body] if isinstance(node, ast.ClassDef) else []
        for prefix, each in [("", node), *inner]:
            if isinstance(each, ast.FunctionDef):
                found.setdefault(prefix + each.name, []).append(each)
    return {name: nodes[0] for name, nodes in found.items() if len(nodes) == 1 and nodes[0].args.kwarg is None}


STUB = ast.parse((ROOT / "cpkg/zstd/__init__.pyi").read_text(encoding="utf-8"))
STUBS = {f"cpkg.zstd.{name}": node for name, node in _functions(STUB).items()}
ALIASES = {**_aliases(STUB), "_Bytes": "bytes"}


def readable_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    """Use the types of a module's stub if it has one, and omit `Any` and `object`."""
    if what not in ("function", "method", "class") or signature is None:
        return None
    node = STUBS.get(f"{name}.__init__" if what == "class" else name)
    if node is not None:
        signature = f"({re.sub(r'^self(, /)?(, )?', '', ast.unparse(node.args))})"
        returned = ast.unparse(node.returns) if node.returns is not None else None
    texts = [signature, returned or ""]
    for number, text in enumerate(texts):
        text = re.sub(r"\b_\w+", lambda match: ALIASES.get(match[0], match[0].lstrip("_")), text)
        text = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", text)
        texts[number] = re.sub(r": (?:Any|object)\b(?! \|)", "", text)
    return texts[0], None if what == "class" else texts[1] or None


def plain_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Warn of a missing docstring; keep Sphinx from reading the stars of `**options` as markup."""
    if what in ("function", "class", "exception") and not any(lines):
        logging.getLogger(__name__).warning("%s has no docstring", name)
    for number, line in enumerate(lines):
        parts = line.split("`")
        parts[::2] = [part.replace("**", r"\*\*") for part in parts[::2]]
        lines[number] = "`".join(parts)


def setup(app: Any) -> None:
    app.connect("source-read", links_inside)
    app.connect("autodoc-process-signature", readable_signature)
    app.connect("autodoc-process-docstring", plain_docstring)
