# SPDX-License-Identifier: Apache-2.0
"""
Run the page of docs/browser.md in headless Chromium, served from a folder: part of `tox run -e pyodide`.

Nothing is skipped, so that a page that was not tested does not look tested.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from web import serving

import cpkg

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Put Pyodide, the wheel and the page into a folder, as the page describes, and serve it."""
    folder = tmp_path_factory.mktemp("page")
    text = (ROOT / "docs" / "browser.md").read_text(encoding="utf-8")
    matched = re.search(r"(?s)```html\n(.*?)```", text)
    assert matched is not None
    (folder / "index.html").write_text(matched.group(1), encoding="utf-8")
    shutil.copytree(os.environ["CPKG_TEST_PYODIDE"], folder / "pyodide")
    shutil.copy(os.environ["CPKG_TEST_WHEEL"], folder)
    with serving(partial(SimpleHTTPRequestHandler, directory=str(folder))) as found:
        yield f"{found}/"


@contextmanager
def headless_chromium(*arguments: str) -> Iterator[Any]:
    """Open Chromium with arguments; yield a Selenium driver, which records the console."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    assert binary, "Chromium is not installed (Debian: apt install chromium chromium-driver)"
    assert driver, "chromedriver is not installed (Debian: apt install chromium-driver)"
    options = Options()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", *arguments):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield opened
    finally:
        opened.quit()


def test_the_page_packs(address: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    with headless_chromium("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1") as page:
        page.get(address)
        shown = page.find_element("id", "shown")
        WebDriverWait(page, SECONDS).until(lambda _: "bytes" in shown.text or "rror" in shown.text)
        summary, _, packed = shown.text.partition("\n")
        assert summary.endswith("(msgpack: pure, zstd: stdlib)")
        assert cpkg.loads(bytes.fromhex(packed)) == {"name": "Oslo", "squares": [0, 1, 4, 9, 16, 25]}

        field, button = page.find_element("id", "json"), page.find_element("tag name", "button")
        field.clear()
        field.send_keys("[1, 2]")
        button.click()
        WebDriverWait(page, SECONDS).until(lambda _: shown.text.startswith("6 characters"))
        assert cpkg.loads(bytes.fromhex(shown.text.partition("\n")[2])) == [1, 2]
        field.send_keys("]")
        button.click()
        WebDriverWait(page, SECONDS).until(lambda _: "JSONDecodeError" in shown.text)
        assert [line for line in page.get_log("browser") if "favicon" not in line["message"]] == []
