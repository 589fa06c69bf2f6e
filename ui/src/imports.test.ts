import ts from "typescript";
import { expect, it } from "vitest";

/** Every source file by its path, such as "./editor/Editor.tsx". Reading them costs no transform. */
const sources = Object.fromEntries(
  ts.sys
    .readDirectory("src", [".ts", ".tsx"], ["**/*.gen.ts"])
    .map((file) => [file.replace(/^.*?src\//, "./"), ts.sys.readFile(file) ?? ""]),
);

/** Static and dynamic imports, and re-exports, of files of ours. */
const IMPORT = /(?:from\s+|import\s*\(\s*|^import\s+)"(@\/|\.\.?\/)([^"?]*)"/gm;

/** The file that a specifier means, as a path like those of `sources`. */
function resolveImport(from: string, start: string, rest: string): string | undefined {
  const base = start === "@/" ? "http://x/" : new URL(from, "http://x/").href;
  const path = `.${new URL(start === "@/" ? `./${rest}` : start + rest, base).pathname}`;
  return [path, `${path}.ts`, `${path}.tsx`].find((one) => one in sources);
}

function importsOf(file: string): string[] {
  const found = [...(sources[file] ?? "").matchAll(IMPORT)];
  return found.flatMap(([, start = "", rest = ""]) => resolveImport(file, start, rest) ?? []);
}

const graph = new Map(
  Object.keys(sources)
    .filter((file) => !file.includes(".test."))
    .map((file) => [file, importsOf(file)]),
);

/** A chain of imports that comes back to where it began. */
function findCycle(): string[] | undefined {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next, [...path, file]);
      if (cycle) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const cycle = visit(file, []);
    if (cycle) return cycle;
  }
  return undefined;
}

it("reads the imports of the sources", () => {
  expect(graph.size).toBeGreaterThan(300);
  expect(graph.get("./editor/CanvasArea.tsx")).toContain("./editor/canvas/Canvas.tsx");
  expect(graph.get("./routes/deploymentRoutes.ts")).toContain("./pages/create/Create.tsx");
});

it("has no import cycle", () => {
  expect(findCycle()).toBeUndefined();
});

it("imports pages from pages and routes only", () => {
  const wrong = [...graph]
    .filter(([file]) => !file.startsWith("./pages/") && !/^\.\/(main\.tsx|routes[./])/.test(file))
    .flatMap(([file, imports]) =>
      imports.filter((one) => one.startsWith("./pages/")).map((one) => `${file} imports ${one}`),
    );
  expect(wrong).toEqual([]);
});

it("imports the parts of the editor in one direction only", () => {
  const layers = ["model", "session", "compare", "canvas", "inspector"];
  const layerOf = (file: string) => layers.indexOf(/^\.\/editor\/(\w+)\//.exec(file)?.[1] ?? "");
  const wrong = [...graph].flatMap(([file, imports]) =>
    layerOf(file) < 0
      ? []
      : imports
          .filter((one) => layerOf(one) > layerOf(file))
          .map((one) => `${file} imports ${one}`),
  );
  expect(wrong).toEqual([]);
});
