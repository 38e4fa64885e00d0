"use strict";
// Rows of a form that is a list: one more, one less.
document.addEventListener("click", (event) => {
  const more = event.target.closest("[data-more]"), less = event.target.closest("[data-less]");
  if (more) {
    const template = document.getElementById(more.dataset.more);
    const list = document.getElementById(more.dataset.into) ?? more.previousElementSibling;
    list.append(template.content.cloneNode(true));
    htmx.process(list);
    list.lastElementChild?.querySelector("input:not([type=hidden]), select, textarea")?.focus();
  }
  if (less) less.closest("[data-row]").remove();
});
// What a page asks to be shown where it is added.
document.addEventListener("htmx:afterSwap", (event) => {
  toNewest();
  if (event.target.id === "result") event.target.scrollIntoView({ block: "start", behavior: "smooth" });
});
// What is new in a prompt stands at its end.
function toNewest() {
  const prompt = document.querySelector("#seat .prompt");
  if (prompt) prompt.scrollTop = prompt.scrollHeight;
}
toNewest();
// A link leads to one result of a run, which is open then.
function openLinked() {
  const linked = location.hash && document.getElementById(location.hash.slice(1));
  if (!linked?.matches?.("details")) return;
  linked.open = true;
  linked.scrollIntoView();
}
openLinked();
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy-link]");
  if (!button) return;
  const link = new URL(button.dataset.copyLink, location.href), label = button.textContent;
  try { await navigator.clipboard.writeText(link.href.replace(/#$/, "")); } catch { return; }
  button.textContent = document.body.dataset.copied;
  setTimeout(() => { button.textContent = label; }, 2000);
});
