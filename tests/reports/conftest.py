"""A headless browser for the page tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


class Browser:
    """Chromium with what the tests ask of it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(
        self,
        path: Path,
        *,
        width: int = 1280,
        dark: bool = False,
        scripts: bool = True,
        media: str = "",
    ) -> None:
        """Opens a file in a window of the given size, in the given colour scheme."""
        command = self.driver.execute_cdp_cmd
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        command("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        command("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
        command("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.driver.get(path.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script run in the page."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[dict[str, Any]]:
        """Console messages since the last call: errors, and refusals by the page's policy."""
        return self.driver.get_log("browser")

    def requests(self) -> list[str]:
        """URLs that files (not the browser's own start page) asked for since the last call."""
        events = (
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        )
        sent = (e["params"] for e in events if e["method"] == "Network.requestWillBeSent")
        return [
            request["request"]["url"]
            for request in sent
            if request["documentURL"].startswith("file:")
        ]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One Chromium for all page tests; they are skipped where there is none."""
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    chromedriver = shutil.which("chromedriver")
    if binary is None or chromedriver is None:
        pytest.skip("no browser: a Chromium and its chromedriver are not both on the PATH")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
