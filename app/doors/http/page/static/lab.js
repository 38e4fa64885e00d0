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
