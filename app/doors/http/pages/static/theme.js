"use strict";
// Before anything is drawn: the page does not flash in the other colours.
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* The browser keeps nothing; its own preference holds. */ }
