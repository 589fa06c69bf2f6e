/** The measurement as a page to read. */
export function report(found) {
  const { machine, results } = found;
  const lines = results.map((one) => {
    const value =
      one.value === null ? "not measured" : `${one.value.toLocaleString("en")} ${one.unit}`.trim();
    return `| ${one.what} | ${value} | ${one.target} | ${verdict(one)} |`;
  });
  return `# The interface, measured

Written by \`make bench-ui\`; do not edit by hand. Numbers of one run on one machine: ${machine.processor ?? "unknown processor"},
${machine.cores} cores, load ${machine.load_before.toFixed(1)} before it began, ${found.measured_at.slice(0, 10)}, ${found.seconds} s.

| what | measured | wanted | |
|---|---|---|---|
${lines.join("\n")}

How: Debian's Chromium without a graphics card opens the pages that the product serves. A frame's time is
from the wheel that it answers to the moment when the page's thread has laid it out and painted it. Dragging is drawn in
React's own time, after the frame in which the pointer moved: there it is all that the thread works for one movement; so it
is for choosing a step, and for a letter in a field.
Ten thousand deployments and a million lines are made up by a proxy in front of the product; the pages, the rest of
the API and the streams' format are real. Of a log, a page keeps the last 200,000 lines and says how many came before;
all million are read. The tag picker asks the product, which has read the list of a registry of that many tags before; the
page is loaded anew each time. The server's event is stamped as it is written, the change when its frame has been painted, by one clock.
Lighthouse 12.8.2 judges as on a desktop, the median of three.
`;
}

function verdict(one) {
  if (one.error) return `**not measured**: ${one.error.split("\n")[0]}`;
  if (one.met === undefined) return "";
  const why = one.faults?.length ? ` (${one.faults.join(", ")})` : "";
  return one.met ? "met" : `**missed**${why}`;
}
