# SPDX-License-Identifier: Apache-2.0
"""
Change the source at random, one place at a time, and list the changes that the tests of the subject do not detect.

    tox run -e mutants -- --seed 7 --count 100
    tox run -e mutants -- --tree OTHER_CHECKOUT --only build/mutants-7.json:survived --out build/others.json

A mutant is the source with one change. The tests run in a copy of the tree, which is installed into the environment
that runs this script, so two concurrent runs need two environments. The script writes its results after every mutant;
after an interrupt, the same command continues with the next mutant. `--only FILE:RESULT` repeats the mutants that have
this result in a file of results, perhaps in another tree, where it finds their places by the text of the lines.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTEST = ("-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--everything")
INSTALL = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", ".")
BUILD = ("setup.py", "--quiet", "build_ext", "--inplace")
BOTH = "--backend=native,pure"
# patterns of paths -> pytest arguments for these files. The first match counts; files without a match are not changed.
SUBJECTS = {
    r"cpkg/(archive/|_native/archive)|purepy/tar/|ffi_build/archive/": (BOTH, "tests/archive"),
    r"cpkg/records/": (BOTH, "tests/records", "tests/cpkg/test_reentrance_hostile.py"),
    r"cpkg/typed/|ffi_build/msgpack/typed/": (BOTH, "tests/typed"),
    r"cpkg/zstandard/": (BOTH, "tests/zstandard"),
    r"cpkg/cli/(?!zstd/help)": ("tests/cli", "tests/archive/test_command.py", "tests/records/test_commands.py"),
    r"cpkg/integrations/blake2signer": ("tests/integrations",),
    r"(cpkg/_native|purepy|ffi_build)/msgpack/(?!.*\bpypy/.*c$)": (BOTH, "tests/msgpack", "tests/upstream/msgpack"),
    r"purepy/zstd/(decoder|encoder|pure)/": ("--backend=pure", "tests/purepy_zstd", "tests/zstd"),
    r"(purepy|ffi_build)/zstd/": (BOTH, "tests/purepy_zstd", "tests/zstd"),
    r"cpkg/(_native/)?zstd/": ("tests/zstd",),
    r"cpkg/(?!dask|integrations|_backend_protocols)": ("tests/cpkg",),
    r"purepy/|ffi_build/common/": (BOTH, "tests/cpkg", "tests/msgpack", "tests/zstd"),
}
SWAPS = dict(
    pair.split(" to ")
    for line in (
        "< to <=, <= to <, > to >=, >= to >, == to !=, != to ==, is to is not, is not to is",
        "+ to -, - to +, * to +, / to *, // to *, % to +, ** to *, << to >>, >> to <<, & to |, | to &, ^ to &",
        "in to not in, not in to in, and to or, or to and, && to ||, || to &&",
    )
    for pair in line.split(", ")
)
# how the conditions of blocks begin that CPython never runs
ELSEWHERE = r"(TYPE_CHECKING|JIT|sys\.implementation\.name == 'pypy')( and |$)"
Change = tuple[str, int, int, str]  # kind, start, end, replacement


class Changes(ast.NodeVisitor):
    """Collects possible changes of a Python source, except in types, in human-readable texts, and in code for PyPy."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.encode().splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line.decode()))
        self.found: list[Change] = []
        self.visit(ast.parse(text))

    def span(self, node: ast.AST) -> tuple[int, int]:
        places = (node.lineno - 1, node.col_offset), (node.end_lineno - 1, node.end_col_offset)
        start, end = (self.starts[line] + len(self.lines[line][:column].decode()) for line, column in places)
        return start, end

    def source(self, node: ast.AST) -> str:
        return self.text[slice(*self.span(node))]

    def replace(self, kind: str, node: ast.AST, *replacements: str) -> None:
        for text in replacements:  # with line breaks at its end, so that later lines keep their numbers
            lines = "\n" * (self.source(node).count("\n") - text.count("\n"))
            self.found.append((kind, *self.span(node), text + lines))

    def swap(self, left: ast.AST, right: ast.AST) -> None:
        """Change the operator between two nodes."""
        start, end = self.span(left)[1], self.span(right)[0]
        operator = re.search(r"is not|not in|\b[a-z]+\b|[-+*/%<>=!&|^]+", self.text[start:end])
        name = operator[0] if operator[0] in SWAPS else operator[0].removesuffix("=")  # + of +=
        if name in SWAPS:
            start += operator.start()
            self.found.append(("operator", start, start + len(name), SWAPS[name]))

    def visit(self, node: ast.AST) -> None:
        """Collect the changes of a node and its children."""
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg in ("help", "metavar"))
        if is_text or getattr(node, "name", "") == "__repr__":
            return
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases):
            return
        if isinstance(node, ast.Call) and re.match(r"(typing\.)?(cast|TypeVar|ParamSpec)$", ast.unparse(node.func)):
            return
        if isinstance(node, ast.If) and re.match(ELSEWHERE, ast.unparse(node.test)):
            node = ast.Module(node.orelse, [])
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if isinstance(targets[0], ast.Name) and re.match(r"__|TYPE_CHECKING|JIT", targets[0].id):
            return
        for annotation in {"annotation", "returns"} & set(node._fields):
            setattr(node, annotation, None)

        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant):  # a docstring
                return
            self.replace("statement", node, "pass")
        if isinstance(node, (ast.AugAssign, ast.Raise, ast.Delete, ast.Continue, ast.Break)):
            self.replace("statement", node, "pass")
        # not for a name: without the assignment, code that reads the name certainly fails
        if isinstance(node, ast.Assign) and not isinstance(targets[0], (ast.Name, ast.Tuple)):
            self.replace("statement", node, "pass")
        if isinstance(node, ast.Return) and node.value:
            self.replace("statement", node, "return None")
        tests = [node.test] if isinstance(node, (ast.If, ast.While, ast.IfExp)) else getattr(node, "ifs", [])
        for test in tests:
            self.replace("condition", test, f"not ({self.source(test)})", "True", "False")
        if isinstance(node, ast.BinOp):
            self.swap(node.left, node.right)
        if isinstance(node, ast.AugAssign):
            self.swap(node.target, node.value)
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            nodes = [node.left, *node.comparators] if isinstance(node, ast.Compare) else node.values
            for left, right in zip(nodes, nodes[1:]):
                self.swap(left, right)
        if isinstance(node, ast.UnaryOp):
            self.replace("operator", node, self.source(node.operand))
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                self.replace("constant", node, str(not node.value))
            elif isinstance(node.value, (int, float)):
                self.replace("constant", node, repr(node.value + 1), repr(node.value - 1))
            # text with spaces is for readers
            elif isinstance(node.value, (str, bytes)) and " " not in str(node.value):
                self.replace("constant", node, repr(type(node.value)()))
        self.generic_visit(node)


def changes_of_c(text: str) -> list[Change]:
    """Return possible changes of a C source; operators are found by the spaces that clang-format puts around them."""
    for ignored in (r'(?s)/\*.*?\*/|"(?:\\.|[^"\\\n])*"', r"(?m)^[ \t]*#(?:.*\\\n)*.*$"):
        text = re.sub(ignored, lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    patterns = {
        "operator": r"(?<= )(?:[<>=!]=|&&|\|\||<<|>>|[-+<>&|])(?= )",
        "constant": r"(?<![\w.'])\d+(?![\w.'])",
        "statement": r"(?m)(?<= {4})\b(?!return|goto)[\w>.-]+(?:\(.*\)|\+\+|--| [-+|&]?= .*);$",
    }
    others = {"operator": SWAPS.get, "constant": lambda number: str(int(number) + 1), "statement": lambda _: ";"}
    matches = [(kind, match) for kind, pattern in patterns.items() for match in re.finditer(pattern, text)]
    return [(kind, *match.span(), others[kind](match[0])) for kind, match in matches]


def is_mutant(text: str, changed: str) -> bool:
    """Return whether a changed Python source is valid and has a different syntax tree."""
    try:
        return ast.dump(ast.parse(text)) != ast.dump(ast.parse(changed))
    except SyntaxError:
        return False


def subject(file: str) -> tuple[str, ...]:
    return next((arguments for pattern, arguments in SUBJECTS.items() if re.match(pattern, file)), ())


def tracked(tree: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=tree, check=True, capture_output=True, text=True).stdout
    return sorted(listed.split("\0")[:-1])


def drawn(tree: Path, seed: int, wanted: str) -> Iterator[dict]:
    """Yield mutants of a tree's files endlessly, every tenth of them in C. A seed always yields the same mutants."""
    draw = random.Random(seed)
    files = [file for file in tracked(tree) if re.match(wanted, file) and subject(file)]
    texts = {file: (tree / file).read_text(encoding="utf-8") for file in files}
    suffixes = {suffix: [file for file in texts if file.endswith(suffix)] for suffix in (".py", ".c")}
    count = 0
    while True:
        suffix = ".c" if suffixes[".c"] and (count % 10 == 9 or not suffixes[".py"]) else ".py"
        (file,) = draw.choices(suffixes[suffix], [len(texts[file]) for file in suffixes[suffix]])
        text = texts[file]
        kinds = collections.defaultdict(list)
        for change in changes_of_c(text) if suffix == ".c" else Changes(text).found:
            kinds[change[0]].append(change)
        if not kinds:
            continue
        _, start, end, replacement = draw.choice(kinds[draw.choice(sorted(kinds))])
        if suffix == ".py" and not is_mutant(text, text[:start] + replacement + text[end:]):
            continue
        count += 1
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        line = text.count("\n", 0, start) + 1
        yield {
            "name": f"{file}:{line}:{start - first + 1}: {text[start:end]!r} -> {replacement!r}",
            "file": file,
            "line": line,
            "before": text[first:last],
            "after": text[first:start] + replacement + text[end:last],
        }


class Copy:
    """An installed copy of a tree, and its tests."""

    def __init__(self, tree: Path, work: Path) -> None:
        self.tree, self.kept, self.temporary = work / "tree", work / "kept", work / "tmp"
        work.chmod(0o755)  # some tests switch to another user, who must be able to read the copy
        for file in tracked(tree):
            (self.tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / file, self.tree / file)
        self.environment = {**os.environ, "CI": "1", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.temporary)}
        self.environment |= {"CPKG_BUILD_NATIVE": "require", "CPKG_TEST_REQUIRE": "msgpack:native,zstd:native"}
        # builds() repeats this second build, so that unchanged source gives the same bytes
        for arguments in (INSTALL, [*BUILD, "--force"], ["-m", "compileall", "-q", "cpkg", "purepy"]):
            status, output = self.run(arguments)
            if status:
                raise SystemExit(output)
        shutil.copytree(self.tree, self.kept)
        self.baselines: dict[tuple[str, ...], tuple[list[str], float]] = {}

    def run(self, arguments: Sequence[str], seconds: float | None = None) -> tuple[int | None, str]:
        """Run Python in the copy; return its exit status (None after a timeout of `seconds`) and its output."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(exist_ok=True)
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            command = [sys.executable, *arguments]
            ends = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
            process = subprocess.Popen(command, cwd=self.tree, env=self.environment, start_new_session=True, **ends)
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            return status, output.read()

    def test(self, arguments: Sequence[str], seconds: float | None = None) -> tuple[int | None, str]:
        """Run pytest like run(). If the tests that fail pass when they are repeated, run pytest again without them."""
        while True:
            status, output = self.run([*PYTEST, *arguments], seconds)
            failed = re.findall(r"(?m)^FAILED (.*?)(?: - .*)?$", output)
            backends = [item for item in arguments if item.startswith("--backend")]
            if status != 1 or not failed or self.run([*PYTEST, *backends, *failed], seconds)[0] != 0:
                return status, output
            print(f"passed when repeated, and left out: {' '.join(failed)}", flush=True)
            arguments = [*arguments, *(f"--deselect={name}" for name in failed)]

    def reset(self) -> None:
        """Restore every file, including compiled ones."""
        shutil.copytree(self.kept, self.tree, dirs_exist_ok=True)

    def baseline(self, arguments: tuple[str, ...]) -> tuple[list[str], float]:
        """
        Run the tests with these arguments on the unchanged source, at the first call only.

        Return the pytest options and files, fast files first, and the seconds that the tests took.
        """
        if arguments not in self.baselines:
            self.reset()
            options = [item for item in arguments if item.startswith("-")]
            folders = [item for item in arguments if (self.tree / item).exists()]
            report = self.tree / "report.xml"
            start = time.monotonic()
            status, output = self.test([*options, *folders, f"--junit-xml={report}", "-ojunit_family=xunit1"])
            if status:
                raise SystemExit(f"{output}\nthese tests fail without a mutant: {' '.join(arguments)}")
            files = collections.Counter()
            for case in ET.parse(report).iter("testcase"):
                files[case.attrib["file"]] += float(case.attrib["time"])
            quick_first = [file for file, _ in reversed(files.most_common())]
            self.baselines[arguments] = [*options, *quick_first], time.monotonic() - start
            print(f"{' '.join(arguments)}: {self.baselines[arguments][1]:.0f} s unchanged", flush=True)
        return self.baselines[arguments]

    def write(self, mutant: dict) -> Path | None:
        """
        Change the lines of a mutant in its file; return the file, or None if the file does not have these lines.

        If the lines occur several times, those nearest to the mutant's line number are changed.
        """
        path = self.tree / mutant["file"]
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        spans = [match.span() for match in re.finditer(rf"^{re.escape(mutant['before'])}$", text, re.M)]
        if not spans:
            return None
        start, end = min(spans, key=lambda span: abs(text.count("\n", 0, span[0]) + 1 - mutant["line"]))
        path.write_text(text[:start] + mutant["after"] + text[end:], encoding="utf-8")
        return path

    def builds(self) -> bool:
        """Build the C modules again; return whether they compile and have changed."""
        modules = list(self.tree.glob("cpkg/_native/*.so"))
        before = [module.read_bytes() for module in modules]
        status, _ = self.run(BUILD)
        return not status and before != [module.read_bytes() for module in modules]

    def judge(self, mutant: dict) -> dict:
        """Apply a mutant and run the tests for its file; return the result."""
        arguments, seconds = self.baseline(subject(mutant["file"]))
        self.reset()
        path = self.write(mutant)
        if path is None:
            return {"result": "absent"}
        if path.suffix == ".c" and not self.builds():
            return {"result": "invalid"}
        start = time.monotonic()
        status, output = self.test(["-x", *arguments], 3 * seconds + 60)
        result = "timed out" if status is None else "killed" if status else "survived"
        by = (re.findall(r"(?m)^(?:FAILED|ERROR) .*", output) or output.splitlines()[-1:] or [""])[0][:200]
        return {"result": result, "seconds": round(time.monotonic() - start), "by": by}


def main() -> None:
    parser = argparse.ArgumentParser(description="Change the source at random, and list what its tests do not notice.")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the choice (default: random)")
    parser.add_argument("--count", type=int, default=100, help="how many mutants to try (default: %(default)s)")
    parser.add_argument("--files", metavar="REGEX", default="", help="how the paths of files to change begin")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to change and test (default: this one)")
    parser.add_argument("--only", metavar="FILE:RESULT", help="try the mutants that have this result in a file")
    parser.add_argument("--out", type=Path, help="the file of results (default: build/mutants-SEED.json)")
    options = parser.parse_args()
    # a signal that ends this script also ends the tests
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # if a mutant allocates endlessly, Linux kills its process first; a limit on memory would make some tests fail
    Path("/proc/self/oom_score_adj").write_text("1000")
    out = options.out or ROOT / "build" / f"mutants-{options.seed}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    again = f"--seed {options.seed} --count {options.count} --files '{options.files}'"
    again = f"--only {options.only}" if options.only else again
    print(f"repeat or continue: tox run -e mutants -- {again} --tree {options.tree} --out {out}", flush=True)
    if options.only:
        file, _, result = options.only.rpartition(":")
        mutants = iter([mutant for mutant in json.loads(Path(file).read_text()) if mutant["result"] == result])
    else:
        mutants = drawn(options.tree, options.seed, options.files)

    results = {mutant["name"]: mutant for mutant in json.loads(out.read_text())} if out.exists() else {}
    tried: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as work:
        copy = None
        while sum(mutant["result"] != "invalid" for mutant in tried.values()) < options.count:
            mutant = next(mutants, None)
            if mutant is None:
                break
            name = mutant["name"]
            if name in tried:
                continue
            if name not in results:
                copy = copy or Copy(options.tree.resolve(), Path(work))
                results[name] = {**mutant, **copy.judge(mutant)}
                out.write_text(json.dumps(list(results.values()), indent=1))
            tried[name] = results[name]
            print(tried[name]["result"], name, flush=True)
    for result in ("timed out", "survived"):
        for mutant in [mutant for mutant in tried.values() if mutant["result"] == result]:
            print(f"\n{result}: {mutant['name']}\n-{mutant['before']}\n+{mutant['after']}")
    counts = collections.Counter(mutant["result"] for mutant in tried.values())
    print("\n" + ", ".join(f"{count} {result}" for result, count in counts.items()))


if __name__ == "__main__":
    main()
