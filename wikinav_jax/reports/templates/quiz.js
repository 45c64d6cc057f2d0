"use strict";
// One claim at a time; the score at the end. Nothing leaves the page but a file that is saved.
(() => {
  const form = document.getElementById("quiz-votes");
  if (!form) return;
  const claims = [...form.querySelectorAll(".claim")];
  const controls = document.getElementById("quiz-controls");
  const next = document.getElementById("quiz-next");
  const end = document.getElementById("quiz-end");
  const answers = [];
  let current = 0;

  const voteOf = (claim) => claim.querySelector("input[type=radio]:checked");
  const show = () => {
    claims.forEach((claim, index) => { claim.hidden = index !== current; });
    next.disabled = !voteOf(claims[current]);
    next.textContent = current === claims.length - 1 ? "See the score" : "Next claim";
    document.getElementById("quiz-progress").textContent =
      `${current} of ${claims.length} claims judged`;
  };
  const record = (claim) => {
    const select = claim.querySelector("select");
    const label = claim.dataset.label === "true";
    const vote = voteOf(claim).value === "true";
    const verdict = claim.dataset.verdict === "true";
    answers.push({
      claim: Number(claim.dataset.number),
      question: claim.querySelector(".question").textContent,
      vote,
      confidence: Number(select.value),
      confidence_name: select.selectedOptions[0].textContent,
      label,
      right: vote === label,
      judge_probability: Number(claim.dataset.judge),
      judge_verdict: verdict,
      judge_right: verdict === label,
    });
  };
  const count = (list, field) => list.filter((answer) => answer[field]).length;
  const finish = () => {
    const total = answers.length;
    const yours = count(answers, "right");
    const judges = count(answers, "judge_right");
    const agreed = answers.filter((answer) => answer.vote === answer.judge_verdict).length;
    document.getElementById("quiz-score").textContent =
      `You were right on ${yours} of ${total} claims, the judge on ${judges}; ` +
      `you agreed with the judge on ${agreed}.`;
    const body = document.querySelector("#quiz-table tbody");
    for (const level of [4, 3, 2, 1]) {
      const part = answers.filter((answer) => answer.confidence === level);
      if (!part.length) continue;
      const row = body.insertRow();
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = part[0].confidence_name;
      row.append(head);
      for (const number of [part.length, count(part, "right")]) {
        const cell = row.insertCell();
        cell.className = "num";
        cell.textContent = number;
      }
    }
    const result = { title: document.title, claims: total, right: yours, judge_right: judges, agreed, answers };
    const save = document.getElementById("quiz-save");
    save.href = URL.createObjectURL(
      new Blob([JSON.stringify(result, null, 2) + "\n"], { type: "application/json" }));
    controls.hidden = true;
    claims.forEach((claim, index) => {
      claim.hidden = true;
      claim.disabled = true;
      for (const element of claim.querySelectorAll(".reveal")) element.hidden = false;
      const right = answers[index].right ? "right" : "wrong";
      claim.querySelector(".own").textContent = `You were ${right}.`;
    });
    end.hidden = false;
    end.focus();
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => { next.disabled = !voteOf(claims[current]); });
  next.addEventListener("click", () => {
    record(claims[current]);
    current += 1;
    if (current === claims.length) finish();
    else {
      show();
      claims[current].querySelector("legend").scrollIntoView({ block: "nearest" });
    }
  });
  document.getElementById("quiz-review").addEventListener("click", () => {
    for (const claim of claims) claim.hidden = !claim.hidden;
  });
  form.reset(); // browsers restore the votes of the page's last visit
  controls.hidden = false;
  show();
})();
