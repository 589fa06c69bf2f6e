export type Line = { sign: "+" | "−" | " "; text: string };

/** The most line pairs to compare; a larger change counts as fully rewritten. */
const MOST = 4_000_000;

/** What became of the lines of a text: the longest that both have in common stays. */
export function diffLines(old: string, now: string): Line[] {
  const [a, b] = [old.split("\n"), now.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  const room = Math.min(a.length, b.length) - head;
  while (tail < room && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const stays = (text: string): Line => ({ sign: " ", text });
  return [
    ...a.slice(0, head).map(stays),
    ...diffMiddle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(stays),
  ];
}

function diffMiddle(a: string[], b: string[]): Line[] {
  const out: Line[] = [];
  const common = a.length * b.length > MOST ? undefined : commonLengths(a, b);
  const [gone, came] = [a.length, b.length];
  let [i, j] = [0, 0];
  const at = (x: number, y: number) => common?.[x * (came + 1) + y] ?? 0;
  while (i < gone || j < came) {
    if (common && i < gone && j < came && a[i] === b[j]) {
      out.push({ sign: " ", text: a[i++] ?? "" });
      j++;
    } else if (i < gone && (j >= came || at(i + 1, j) >= at(i, j + 1)))
      out.push({ sign: "−", text: a[i++] ?? "" });
    else out.push({ sign: "+", text: b[j++] ?? "" });
  }
  return out;
}

/** How many lines the rest from x, and the rest from y, have in common. */
function commonLengths(a: string[], b: string[]): Uint32Array {
  const width = b.length + 1;
  const out = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) {
      const [next, down, right] = [
        out[(i + 1) * width + j + 1],
        out[(i + 1) * width + j],
        out[i * width + j + 1],
      ];
      out[i * width + j] = a[i] === b[j] ? (next ?? 0) + 1 : Math.max(down ?? 0, right ?? 0);
    }
  return out;
}

/** The lines that differ, each with so many around it; undefined stands where others were left out. */
export function findHunks(lines: Line[], around = 2): (Line | undefined)[] {
  const near = new Set<number>();
  lines.forEach(({ sign }, i) => {
    if (sign !== " ") for (let k = -around; k <= around; k++) near.add(i + k);
  });
  const out: (Line | undefined)[] = [];
  lines.forEach((line, i) => {
    if (near.has(i)) out.push(line);
    else if (i === 0 || near.has(i - 1)) out.push(undefined);
  });
  return out;
}
