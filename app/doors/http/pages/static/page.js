"use strict";
const body = document.body, address = body.dataset.address;
const log = document.getElementById("log"), scroller = log?.closest("[data-scroll]") ?? document.getElementById("scroll");
const composer = document.getElementById("composer"), text = document.getElementById("text");
const alertBox = document.getElementById("alert"), chosen = document.getElementById("chosen");
const product = document.title, own = new Set();
let title = product;
const commands = document.getElementById("commands");
const files = composer?.elements.file, voice = composer?.elements.voice;

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function isAtEnd() { return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 120; }
function toEnd() { scroller.scrollTop = scroller.scrollHeight; }
// Where a finger types, Enter begins a new line: there is a button to send.
function isSending(event) {
  return event.key === "Enter" && !event.shiftKey && !event.isComposing && matchMedia("(hover: hover), (min-width: 48rem)").matches;
}
function isRunning() { return log.querySelector(".turn.running") !== null; }

// An id stays with what is sent until it has arrived: sent again, it does nothing twice.
body.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.verb !== "post") return;
  const from = event.detail.elt;
  from.dataset.sent ||= newId();
  own.add(from.dataset.sent);
  if (!event.detail.path.includes("/again")) event.detail.parameters.id = from.dataset.sent;
});
body.addEventListener("htmx:beforeRequest", () => { alertBox.textContent = ""; });
body.addEventListener("htmx:afterRequest", (event) => {
  const from = event.detail.elt, status = event.detail.xhr.status;
  if (status) delete from.dataset.sent;
  if (event.detail.successful && from.matches("[data-clears]")) from.reset();
  if (!event.detail.successful || !log || event.detail.requestConfig.verb !== "post") return;
  if (from.matches("[data-rename], [data-offer]")) closeMenu();
  if (from === composer) { composer.reset(); keepDraft(); showChosen(); text.focus(); }
});
body.addEventListener("htmx:responseError", (event) => {
  const misfit = event.detail.xhr.getResponseHeader("X-Misfit"), words = event.detail.xhr.responseText.slice(0, 300);
  alertBox.textContent = (misfit ? `${nameMisfit(event.detail.elt, JSON.parse(misfit))}: ` : "") + words;
});
body.addEventListener("input", (event) => event.target.removeAttribute("aria-invalid"));
// A fault is told in the words of the form, and the field that it is in is shown.
function nameMisfit(form, path) {
  const named = [...form.querySelectorAll?.("[name]") ?? []];
  for (const field of named) field.removeAttribute("aria-invalid");
  for (let length = path.length; length; length -= 1) {
    const steps = path.slice(0, length), row = steps.findLast((step) => Number.isInteger(step)) ?? 0;
    const name = steps.map((step) => Number.isInteger(step) ? "[]" : `.${step}`).join("").slice(1);
    const fields = named.filter((field) => field.name.split(":")[0] === name), field = fields[row] ?? fields[0];
    const label = field?.closest("label")?.querySelector("span")?.firstChild?.textContent.trim();
    if (!label) continue;
    field.setAttribute("aria-invalid", "true");
    field.focus();
    return label;
  }
  return path.join(".");
}
body.addEventListener("htmx:sendError", () => { alertBox.textContent = body.dataset.lost; });
// Whoever signs out, or deletes the agent of the page, is to ask for nothing more until the other page is there.
let isLeaving = false, news = null;
body.addEventListener("htmx:beforeRequest", (event) => {
  if (isLeaving) event.preventDefault();
  isLeaving ||= ["/sign-out", "/lab/agent/delete"].includes(event.detail.requestConfig.path);
});
body.addEventListener("htmx:afterRequest", (event) => {
  isLeaving &&= event.detail.successful;
  if (isLeaving && event.detail.requestConfig.path === "/sign-out") try { sessionStorage.clear(); } catch { /* Nothing is kept. */ }
});

if (log) {
  let wasAtEnd = true;
  body.addEventListener("htmx:sseBeforeMessage", (event) => {
    wasAtEnd = isAtEnd();
    // A stream that is opened again tells its answer from the beginning.
    if (event.detail.type === "begin") event.target.replaceChildren();
  });
  body.addEventListener("htmx:sseMessage", () => { if (wasAtEnd) toEnd(); });
  body.addEventListener("htmx:sseClose", (event) => {
    event.target.closest(".turn")?.classList.remove("running");
    renewList();
  });
  body.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target === log) toEnd(); });

  composer.addEventListener("submit", (event) => {
    const isMuch = isTooMuch();
    if (isMuch) alertBox.textContent = body.dataset.much;
    if (isMuch || !hasWords()) { event.preventDefault(); event.stopImmediatePropagation(); }
  }, true);
  files?.addEventListener("change", showChosen);
  chosen?.addEventListener("click", () => { files.value = ""; showChosen(); text.focus(); });
  document.querySelector("[data-attach]")?.addEventListener("click", () => files.click());
  document.querySelector("[data-record]")?.addEventListener("click", (event) => record(event.currentTarget));
  // Files come by the clip, pasted or dropped; those of the one place join those of the other.
  text.addEventListener("paste", (event) => { if (attach(event.clipboardData.files)) event.preventDefault(); });
  // A file that is not taken is not opened in place of the page either.
  document.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); });
  document.addEventListener("drop", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
    attach(event.dataTransfer.files);
  });
  text.value ||= keptDraft();
  text.addEventListener("input", keepDraft);
  text.addEventListener("input", offerCommands);
  text.addEventListener("blur", () => { if (commands) commands.hidden = true; });
  commands?.addEventListener("mousedown", (event) => {
    event.preventDefault();
    takeCommand(event.target.closest("[data-command]"));
  });
  text.addEventListener("keydown", (event) => {
    if (chooseCommand(event)) return;
    if (!isSending(event)) return;
    event.preventDefault();
    if (hasWords()) composer.requestSubmit();
  });

  // What comes in place of a message takes the place of all behind it as well.
  body.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.requestConfig?.path !== `${address}/edit` || !event.detail.shouldSwap) return;
    let turn = event.detail.requestConfig.elt.closest(".turn");
    while (turn) [turn, ] = [turn.nextElementSibling, turn.remove()];
  });
  log.addEventListener("submit", async (event) => {
    const editor = event.target.closest("[data-editor]");
    if (!editor) return;
    event.preventDefault();
    await send(`${address}/edit`, { text: editor.elements.text.value, message: editor.closest(".turn").dataset.id }, editor);
    if (!editor.isConnected) text.focus();
  });
  log.addEventListener("submit", async (event) => {
    const form = event.target.closest("[data-choice]");
    if (!form) return;
    event.preventDefault();
    const values = Object.fromEntries(new FormData(form, event.submitter)), isLeft = event.submitter?.name === "leave";
    const question = form.querySelector("fieldset");
    question.disabled = true;
    const before = log.childElementCount;
    await (isLeft ? send(`${address}/messages`, { text: values.leave }, form) : send(`${address}/choices`, values, form));
    if (log.childElementCount === before) question.disabled = false;
    else {
      form.classList.add("answered");
      if (event.submitter?.name === "choose") event.submitter.setAttribute("aria-pressed", "true");
      text.focus();
    }
  });
  scroller.addEventListener("click", async (event) => {
    const again = event.target.closest("[data-again]"), words = event.target.closest("[data-say]");
    if (again) {
      const turn = again.closest(".turn");
      await htmx.ajax("POST", `${address}/again?id=${encodeURIComponent(turn.dataset.id)}`, { source: again, target: turn, swap: "outerHTML" });
    } else if (event.target.closest("[data-copy-answer]")) {
      await copyAnswer(event.target.closest(".turn"));
    } else if (event.target.closest("[data-edit]")) {
      edit(event.target.closest(".turn"));
    } else if (event.target.closest("[data-keep]")) {
      leaveEditor(event.target.closest(".turn"));
    } else if (event.target.closest("[data-anew]")) {
      const anew = event.target.closest("[data-anew]");
      await send(`${address}/edit`, { message: anew.closest(".turn").dataset.id }, anew);
    } else if (words) {
      await send(`${address}/messages`, { text: words.dataset.say }, words);
      if (matchMedia("(hover: hover)").matches) text.focus();
    }
  });

  setInterval(movePlayer, 1000);
  if (body.dataset.row) listen();
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && body.dataset.row && news.readyState === EventSource.CLOSED) listen();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const editor = event.target.closest("[data-editor]");
    if (editor) leaveEditor(editor.closest(".turn"));
    else if (menu?.open) closeMenu();
    else if (body.classList.contains("drawer-open")) toggleDrawer();
    else if (isRunning()) document.querySelector(".stop").click();
  });
  if (log.childElementCount) toEnd();
}
nameTab();
// What is said in a talk that an operator reads comes behind what stands there.
const readLog = document.getElementById("seat-log");
if (readLog) {
  let wasAtEnd = true;
  readLog.addEventListener("htmx:beforeSwap", () => { wasAtEnd = isAtEnd(); });
  readLog.addEventListener("htmx:afterSwap", () => { if (wasAtEnd) toEnd(); });
  toEnd();
}
document.addEventListener("keydown", (event) => {
  if (!event.target.matches("[data-enter]") || !isSending(event)) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});
// A row of the list rings once; one that stood there when the page was opened has been seen.
function rings() { return [...document.querySelectorAll("#conversations [data-ring]")]; }
const rang = new Set(rings().map((row) => row.dataset.ring));
function ringNew() {
  for (const row of rings()) {
    if (!rang.has(row.dataset.ring)) ring(row.textContent, row.dataset.ring);
    rang.add(row.dataset.ring);
  }
}

// A block of code gets a button where the browser lets a page copy.
htmx.onLoad((added) => {
  if (!navigator.clipboard) return;
  for (const code of added.querySelectorAll(".parts .said pre, .answer > .said pre")) {
    if (code.parentElement.matches(".copied-from")) continue;
    const block = document.createElement("div"), button = document.createElement("button");
    block.className = "copied-from";
    Object.assign(button, { type: "button", className: "copy", textContent: body.dataset.copy });
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(code.textContent); } catch { return; }
      button.textContent = body.dataset.copied;
      setTimeout(() => { button.textContent = body.dataset.copy; }, 2000);
    });
    code.replaceWith(block);
    block.append(code, button);
  }
});
// Who holds the talk is always told anew; a list in which somebody searches, reads or stands stays as it is.
function renewList() {
  const list = document.getElementById("conversations");
  if (!list) return;
  const isUsed = list.contains(document.activeElement) || list.scrollTop > 0 || document.getElementById("search").value;
  htmx.ajax("GET", `${address}/list`, { target: list, swap: isUsed ? "none" : "innerHTML" });
}
// A day, or of today the time, as people write it where they are.
htmx.onLoad((added) => {
  for (const time of added.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime), isToday = at.toDateString() === new Date().toDateString();
    time.textContent = at.toLocaleString(document.documentElement.lang, isToday ? { timeStyle: "short" } : { dateStyle: "medium" });
  }
});
body.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target?.id === "conversations") { ringNew(); nameTab(); } });
document.querySelector("[data-search]")?.addEventListener("submit", (event) => event.preventDefault());
const menu = document.querySelector(".menu");
function closeMenu() {
  menu.open = false;
  menu.querySelector("summary").focus();
}
document.addEventListener("click", (event) => { if (menu?.open && !menu.contains(event.target)) menu.open = false; });
// Its title is what the page is called, also in the list of tabs.
function nameTab() {
  const here = document.querySelector("#conversations [aria-current] .title")?.textContent;
  if (here) title = `${here} · ${product}`;
  showTitle(document.title.startsWith("•"));
}
// A dot tells of what came while somebody looks elsewhere, a number of how many wait for an operator.
function showTitle(isNew) {
  const count = rings().length;
  document.title = (isNew && document.hidden ? "• " : "") + (count ? `(${count}) ` : "") + title;
  // On a phone neither the title nor the list is in sight.
  document.querySelector("header [data-do=drawer]")?.setAttribute("data-count", count || "");
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) showTitle(false); });
function hasWords() { return text.value.trim() || files?.files.length || voice?.files.length; }
// The server takes no more, and a browser that is refused amid its sending does not show why.
function isTooMuch() {
  const sizes = [...(files?.files ?? [])].map((file) => file.size);
  return sizes.length > 10 || sizes.reduce((sum, size) => sum + size, 0) > 24_000_000;
}
// What is typed outlives a reload, and a session that ends meanwhile.
function keptDraft() { try { return sessionStorage.getItem(address) ?? ""; } catch { return ""; } }
function keepDraft() { try { sessionStorage.setItem(address, text.value); } catch { /* It is lost with the page. */ } }
function attach(more) {
  if (!files || !more.length) return false;
  const all = new DataTransfer();
  for (const file of [...files.files, ...more]) all.items.add(file);
  files.files = all.files;
  showChosen();
  text.focus();
  return true;
}
// The commands that begin as what is typed; arrows go through them, Enter or Tab takes one, Escape leaves them.
function offerCommands() {
  if (!commands) return;
  const typed = /^\/\w*$/.test(text.value) ? text.value.toLowerCase() : null;
  for (const row of commands.children) row.hidden = typed === null || !row.dataset.command.startsWith(typed);
  const rows = [...commands.children].filter((row) => !row.hidden);
  commands.hidden = !rows.length;
  mark(rows[0]);
}
function mark(row) {
  for (const each of commands.children) each.setAttribute("aria-selected", String(each === row && !commands.hidden));
  if (row && !commands.hidden) text.setAttribute("aria-activedescendant", row.id);
  else text.removeAttribute("aria-activedescendant");
  row?.scrollIntoView({ block: "nearest" });
}
function chooseCommand(event) {
  if (!commands || commands.hidden || event.isComposing) return false;
  const rows = [...commands.children].filter((row) => !row.hidden), place = rows.findIndex((row) => row.ariaSelected === "true");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], isTyped = rows[place]?.dataset.command === text.value;
  if (step) mark(rows[(place + step + rows.length) % rows.length]);
  else if (event.key === "Escape") commands.hidden = true;
  else if ((event.key === "Enter" && !isTyped) || event.key === "Tab") takeCommand(rows[place]);
  else {
    if (event.key === "Enter") commands.hidden = true;
    return false;
  }
  event.preventDefault();
  event.stopPropagation();
  return true;
}
function takeCommand(row) {
  if (row) text.value = `${row.dataset.command} `;
  commands.hidden = true;
  mark(null);
  text.focus();
}
// Whoever has asked for it is told by a sign of the system and a short sound; the title tells everybody.
const notify = document.querySelector("[data-notify]");
function isNotified() { return globalThis.Notification?.permission === "granted" && stored("notify") === "on"; }
function stored(name) { try { return localStorage.getItem(name); } catch { return null; } }
if (notify && globalThis.Notification) {
  notify.hidden = false;
  notify.setAttribute("aria-pressed", String(isNotified()));
  notify.addEventListener("click", async () => {
    const isWanted = !isNotified() && await Notification.requestPermission() === "granted";
    try { localStorage.setItem("notify", isWanted ? "on" : "off"); } catch { /* It is asked for again on the next page. */ }
    notify.setAttribute("aria-pressed", String(isWanted));
  });
}
function ring(words, tag) {
  showTitle(true);
  if (!isNotified()) return;
  new Notification(title, { body: words.trim().slice(0, 160), tag }).addEventListener("click", () => window.focus());
  const sound = new AudioContext(), tone = sound.createOscillator(), volume = sound.createGain();
  tone.frequency.value = 660;
  volume.gain.setValueAtTime(0.1, sound.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, sound.currentTime + 0.4);
  tone.connect(volume).connect(sound.destination);
  tone.addEventListener("ended", () => sound.close());
  tone.start();
  tone.stop(sound.currentTime + 0.4);
}
function showChosen() {
  if (!chosen) return;
  chosen.textContent = [...(files?.files ?? [])].map((file) => file.name).join(", ");
  chosen.hidden = !chosen.textContent;
}
// The second press ends the recording and sends it.
let recorder = null;
async function record(button) {
  if (recorder) { recorder.stop(); return; }
  let stream;
  try { stream = await navigator.mediaDevices.getUserMedia({ audio: true }); } catch { alertBox.textContent = body.dataset.deaf; return; }
  const pieces = [], sent = new DataTransfer();
  recorder = new MediaRecorder(stream);
  recorder.addEventListener("dataavailable", (event) => pieces.push(event.data));
  recorder.addEventListener("stop", () => {
    stream.getTracks().forEach((track) => track.stop());
    recorder = null;
    button.setAttribute("aria-pressed", "false");
    sent.items.add(new File(pieces, "voice"));
    voice.files = sent.files;
    composer.requestSubmit();
  });
  recorder.start();
  button.setAttribute("aria-pressed", "true");
}
function edit(turn) {
  if (turn.querySelector("[data-editor]")) return;
  const editor = document.getElementById("editor").content.firstElementChild.cloneNode(true), heard = turn.querySelector(".heard");
  editor.elements.text.value = heard.querySelector(".words").textContent;
  heard.after(editor);
  heard.hidden = true;
  editor.elements.text.focus();
}
function leaveEditor(turn) {
  turn.querySelector("[data-editor]").remove();
  turn.querySelector(".heard").hidden = false;
  turn.querySelector("[data-edit]").focus();
}
// What stands there, without the names and buttons that are only read aloud or pressed.
async function copyAnswer(turn) {
  const parts = [...turn.querySelectorAll(".answer :is(.said, .view)")].map((part) => {
    const words = part.cloneNode(true);
    for (const beside of words.querySelectorAll(".hidden, .speaker, button")) beside.remove();
    return words.textContent.trim();
  });
  const button = turn.querySelector("[data-copy-answer]"), label = button.title;
  try { await navigator.clipboard.writeText(parts.join("\n\n")); } catch { return; }
  button.setAttribute("aria-label", button.title = body.dataset.copied);
  button.classList.add("was-copied");
  setTimeout(() => { button.setAttribute("aria-label", button.title = label); button.classList.remove("was-copied"); }, 2000);
}
function send(path, values, source) {
  return htmx.ajax("POST", path, { source, target: log, swap: "beforeend", values });
}
// What plays moves on; of several players the last one tells what is now.
function movePlayer() {
  const player = [...log.querySelectorAll("[data-player]")].at(-1), bar = player?.querySelector("progress");
  if (player?.dataset.player !== "playing" || !bar) return;
  player.dataset.begun ||= Date.now() - bar.value * 1000;
  bar.value = Math.round((Date.now() - player.dataset.begun) / 1000);
  player.querySelector("[data-time]").textContent = `${Math.floor(bar.value / 60)}:${String(bar.value % 60).padStart(2, "0")}`;
}
// What comes unasked, or by another tab or device, is added behind what stands there; nothing is drawn anew.
function listen() {
  news = new EventSource(`${address}/events?after=${body.dataset.row}`);
  news.addEventListener("news", (event) => { body.dataset.row = event.lastEventId; add(event.data); });
  // Another tab has gone on from an earlier message; where somebody types, nothing is taken away.
  news.addEventListener("left", (event) => {
    for (const id of JSON.parse(event.data)) {
      const turn = log.querySelector(`.turn[data-id="${CSS.escape(id)}"]`);
      if (!turn?.contains(document.activeElement)) turn?.remove();
    }
  });
  // Another tab of this browser needs the place; this one comes back when it is looked at.
  news.addEventListener("over", () => { news.close(); if (!document.hidden) setTimeout(listen, 2000); });
}
function add(html) {
  const wasAtEnd = isAtEnd(), added = document.createElement("div");
  added.innerHTML = html;
  for (const turn of added.querySelectorAll(":scope > .turn")) {
    const shown = log.querySelector(`.turn[data-id="${CSS.escape(turn.dataset.id)}"]`);
    if (own.has(turn.dataset.id.split("#")[0])) turn.remove();
    else if (shown?.querySelector("[data-again]") && !turn.querySelector("[data-again]")) shown.remove();
    else if (shown) turn.remove();
  }
  // A question comes with its turn, which shows it itself where it is this tab's own.
  const question = added.querySelector(":scope > form"), isElsewhere = added.querySelector(":scope > .turn:not(.running)");
  if (!isElsewhere) question?.remove();
  else closeForms(question);
  if (!added.firstElementChild) return;
  if (document.hidden) ring(added.querySelector(".answer, .question")?.textContent ?? "", address);
  htmx.swap(log, [...added.children].map((part) => part.outerHTML).join(""), { swapStyle: "beforeend" });
  if (wasAtEnd) toEnd();
  renewList();
}
// What somebody has filled in stays theirs; sent too late it is refused in words.
function closeForms(question) {
  for (const form of log.querySelectorAll("form.question:not(.answered)")) {
    const isOpen = question && form.elements.question.value === question.elements.question.value;
    const isUsed = form.contains(document.activeElement) || [...form.querySelectorAll(".field input")].some((field) => field.value);
    if (isOpen) question.remove();
    else if (!isUsed) {
      form.classList.add("answered");
      form.querySelector("fieldset").disabled = true;
    }
  }
}
function toggleDrawer() {
  const isOpen = body.classList.toggle("drawer-open");
  const opener = document.querySelector("header [data-do=drawer]");
  opener.setAttribute("aria-expanded", String(isOpen));
  (isOpen ? document.querySelector("#drawer .only-phone") : opener).focus();
}
function toggleTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* It holds until the page is left. */ }
}
document.addEventListener("click", (event) => {
  const what = event.target.closest("[data-do]")?.dataset.do;
  if (what === "drawer") toggleDrawer();
  if (what === "theme") toggleTheme();
});
