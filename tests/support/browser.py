# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, as the distribution packages it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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
