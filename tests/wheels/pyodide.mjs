// SPDX-License-Identifier: Apache-2.0
// Run pytest in Pyodide: `node pyodide.mjs FOLDER-OF-PYODIDE SITE TESTS PYTEST'S ARGUMENTS...`.
import { pathToFileURL } from "node:url";

const [pyodide, site, tests, ...rest] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
const python = await loadPyodide({ env: { HOME: "/home/pyodide", PYTHONDONTWRITEBYTECODE: "1" } });
for (const [name, folder] of [["/site", site], ["/tests", tests]]) {
  python.FS.mkdirTree(name);
  python.mountNodeFS(name, folder);
}
python.globals.set("arguments", python.toPy(rest));
try {
  process.exitCode = await python.runPythonAsync(`
import os, sys
sys.path[:0] = ["/site", "/tests/tests/support"]
os.chdir("/tests")
import pytest
int(pytest.main(list(arguments)))
`);
} catch (error) { // its stack quotes Pyodide's source, which is one line of a megabyte
  console.error(error.message);
  process.exitCode = 1;
}
