// The order counts: each of these calls itself by the names of those after it, too.
const browsers: [name: string, sign: RegExp][] = [
  ["Edge", /\bEdgA?\/(\d+)/],
  ["Opera", /\bOPR\/(\d+)/],
  ["Firefox", /\b(?:Firefox|FxiOS)\/(\d+)/],
  ["Chrome", /(?:Chrome|CriOS)\/(\d+)/],
  ["Safari", /\bVersion\/(\d+).* Safari\//],
];
const systems: [name: string, sign: RegExp][] = [
  ["Windows", /Windows NT/],
  ["Android", /Android/],
  ["iOS", /iPhone|iPad/],
  ["macOS", /Mac OS X/],
  ["ChromeOS", /CrOS/],
  ["Linux", /Linux/],
];

/** What a browser calls itself, as people call it: "Firefox 145 on Windows". Others by their own words. */
export function deviceOf(agent: string): string {
  for (const [browser, sign] of browsers) {
    const version = sign.exec(agent)?.[1];
    if (!version) continue;
    const system = systems.find(([, of]) => of.test(agent))?.[0];
    return [browser, version, ...(system ? ["on", system] : [])].join(" ");
  }
  return agent.slice(0, 60);
}
