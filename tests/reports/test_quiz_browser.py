"""The quiz in a real browser: clicked through to the score, and the answers saved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.reports.debates import make_debate
from wikinav_jax.reports.page import write_quiz_page

pytestmark = pytest.mark.browser

SHOWN = "return [...document.querySelectorAll('.claim')].filter(c => !c.hidden).map(c => c.id)"
VOTE = """const claim = document.querySelector('.claim:not([hidden])');
          const vote = arguments[0] === 'right' ? claim.dataset.label
            : String(claim.dataset.label !== 'true');
          claim.querySelector(`input[value=${vote}]`).click();
          const select = claim.querySelector('select');
          select.value = arguments[1];
          select.dispatchEvent(new Event('change', {bubbles: true}));"""
NEXT = "document.getElementById('quiz-next').click()"


@pytest.fixture(scope="module")
def quiz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    debates = [make_debate(i, label=i in (0, 3)) for i in range(4)]
    return write_quiz_page(debates, tmp_path_factory.mktemp("quiz") / "quiz.html", "Quiz", seed=1)


@pytest.mark.parametrize("width", [360, 1280])
def test_opens_without_errors_and_asks_for_nothing(browser, quiz, width):
    browser.requests()
    browser.open(quiz, width=width)
    assert browser.complaints() == []
    assert set(browser.requests()) == {quiz.as_uri()}
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run(SHOWN) == ["claim-1"]
    assert "Person" not in browser.run("return document.querySelector('#claim-1').innerText")


def test_no_claim_can_be_skipped(browser, quiz):
    browser.open(quiz)
    assert browser.run("return document.getElementById('quiz-next').disabled")
    browser.run(NEXT)
    assert browser.run(SHOWN) == ["claim-1"]


def test_voting_to_the_end(browser, quiz):
    browser.open(quiz)
    for number, (vote, confidence) in enumerate(
        [("right", "4"), ("wrong", "1"), ("right", "4"), ("right", "2")], start=1
    ):
        assert browser.run(SHOWN) == [f"claim-{number}"]
        browser.run(VOTE, vote, confidence)
        browser.run(NEXT)
    assert browser.run(SHOWN) == []
    score = browser.run("return document.getElementById('quiz-score').innerText")
    # The judge holds claims 0 and 2 to be true; true are 0 and 3: it is right on 0 and 1.
    assert score.startswith("You were right on 3 of 4 claims, the judge on 2;")
    rows = browser.run(
        "return [...document.querySelectorAll('#quiz-table tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.innerText))"
    )
    assert rows == [["very", "2", "2"], ["somewhat", "1", "1"], ["a guess", "1", "0"]]
    browser.run("document.getElementById('quiz-review').click()")
    assert len(browser.run(SHOWN)) == 4
    text = browser.run("return document.querySelector('main').innerText")
    assert "Person 0 — citizen of — Land is true. The judge says true (80%)." in text
    assert "You were wrong." in text
    assert browser.complaints() == []


def test_the_answers_are_saved_as_json(browser, quiz, tmp_path):
    browser.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    browser.open(quiz)
    for _ in range(4):
        browser.run(VOTE, "right", "3")
        browser.run(NEXT)
    browser.run("document.getElementById('quiz-save').click()")
    path = tmp_path / "quiz-answers.json"
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser.driver, 20).until(lambda _: path.exists())
    saved = json.loads(path.read_text())
    assert (saved["claims"], saved["right"], saved["judge_right"]) == (4, 4, 2)
    assert [answer["confidence"] for answer in saved["answers"]] == [3, 3, 3, 3]
    assert all("[subject]" in answer["question"] for answer in saved["answers"])


def test_by_keyboard(browser, quiz):
    from selenium.webdriver.common.keys import Keys

    browser.open(quiz)
    browser.driver.find_element("id", "true-1").send_keys(Keys.SPACE)
    assert not browser.run("return document.getElementById('quiz-next').disabled")
    browser.driver.find_element("id", "quiz-next").send_keys(Keys.ENTER)
    assert browser.run(SHOWN) == ["claim-2"]
