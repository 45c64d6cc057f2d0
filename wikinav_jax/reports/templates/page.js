"use strict";
// Filters of the walks. Without scripts all walks are listed and fold by <details> alone.
(() => {
  const form = document.getElementById("walk-filters");
  if (!form) return;
  const walks = [...document.querySelectorAll("details.walk")];
  const count = form.querySelector("output");
  const toggle = document.getElementById("walk-toggle");
  const none = document.getElementById("walk-none");
  const shown = () => walks.filter((walk) => !walk.hidden);
  const label = () => {
    toggle.textContent = shown().every((walk) => walk.open) ? "Close all" : "Open all";
  };
  const apply = () => {
    const wanted = [...new FormData(form)].filter(([, value]) => value);
    for (const walk of walks) {
      walk.hidden = !wanted.every(([field, value]) => walk.dataset[field] === value);
    }
    const left = shown().length;
    count.textContent = left === walks.length ? `${left} walks` : `${left} of ${walks.length} walks`;
    none.hidden = left > 0;
    toggle.disabled = left === 0;
    label();
  };
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  toggle.addEventListener("click", () => {
    const open = !shown().every((walk) => walk.open);
    for (const walk of shown()) walk.open = open;
    label();
  });
  for (const walk of walks) walk.addEventListener("toggle", label);
  form.hidden = false;
  apply();
})();
