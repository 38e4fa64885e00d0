"use strict";
// The table of runs as lines, one for each of its columns. The table stays: it is what is read aloud.
const table = document.querySelector("#trend table"), frame = document.getElementById("chart");
const rows = [...table.tBodies[0].rows], names = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent);
const links = rows.map((row) => row.querySelector("a"));
// The share of a cell in percent; a run in which the dialog had no turn leaves a gap.
const share = (cell) => {
  const bar = cell.querySelector("progress");
  return bar && 100 * bar.position;
};
const shares = names.map((_, column) => rows.map((row) => share(row.cells[column + 1])));
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
const axis = { stroke: () => colour("--faint"), grid: { stroke: () => colour("--line") }, ticks: { stroke: () => colour("--line") } };
// The places below which a time is written: as many as stand beside each other.
function fitting(width) {
  const step = Math.ceil(rows.length * 110 / width);
  return rows.map((_, place) => place).filter((place) => place % step === 0);
}
const chart = new uPlot({
  width: frame.clientWidth,
  height: 260,
  cursor: { drag: { x: false } },
  scales: { x: { time: false, range: (_, first, last) => [first - .3, last + .3] }, y: { range: [0, 105] } },
  axes: [
    { ...axis, splits: (chart) => fitting(chart.width), values: (_, places) => places.map((place) => links[place].textContent.slice(5)) },
    { ...axis, values: (_, values) => values.map((value) => `${value} %`), size: 60 },
  ],
  series: [
    { label: table.tHead.rows[0].cells[0].textContent, value: (_, place) => place === null ? "" : links[place].textContent },
    // Each line has a hue of its own, and dashes of its own for whoever sees no hues.
    ...names.map((label, column) => ({
      label, width: column ? 2 : 3, stroke: column ? `hsl(${column * 137 % 360} 60% 50%)` : () => colour("--accent"),
      dash: column ? [4 * column, 3] : undefined, points: { size: 7 }, value: (_, value) => value === null ? "" : `${Math.round(value)} %`,
    })),
  ],
}, [rows.map((_, place) => place), ...shares], frame);
// A point leads to its run.
chart.over.addEventListener("click", () => links[chart.cursor.idx]?.click());
new ResizeObserver(() => chart.setSize({ width: frame.clientWidth, height: 260 })).observe(frame);
const redraw = () => chart.redraw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
