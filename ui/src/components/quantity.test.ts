// @vitest-environment node
import ts from "typescript";
import { describe, expect, it } from "vitest";
import samples from "../../../internal/quantity/testdata/quantities.json";
import { formatBytes, formatLimit, formatNumber, formatPercent } from "./quantity";
import { formatDuration } from "./time";

describe("quantities", () => {
  // The API and the CLI are held to the same file.
  it.each([
    ["bytes", formatBytes],
    ["numbers", formatNumber],
    ["percents", formatPercent],
    ["elapsed", formatDuration],
  ] as const)("words %s as the API does", (kind, format) => {
    const all = samples[kind] as [number, string][];
    expect(all.length).toBeGreaterThan(4);
    expect(all.map(([n]) => format(n))).toEqual(all.map(([, text]) => text));
  });

  it("says little use of a core apart from none", () => {
    const said = [0, 0.000198, 0.001, 0.0025, 0.05, 0.25, 1.5, 12].map(formatNumber);
    expect(said).toEqual(["0", "0.0002", "0.001", "0.0025", "0.05", "0.25", "1.5", "12"]);
  });

  it("rounds what was measured, and keeps what was set", () => {
    expect(formatBytes(281.5472834352551)).toBe("282 B");
    expect(formatBytes(0.5)).toBe("0.5 B");
    expect(formatLimit(2048)).toBe("2048 MiB");
  });
});

/** Files that may word numbers: these, and what is never shipped. */
const ITSELF =
  /components\/(quantity|time)\.ts$|\/(locale|plural)\.ts$|pages\/components\/|\.test\.tsx?$|\.gen\.ts$/;
/** Numbers of drawings: no person reads them. */
const DRAWN = /components\/(Glyph\.tsx|curve\.ts|logHistogram\.ts)$/;
/** Money and hours of the ledger have fixed places. */
const LEDGER = /pages\/usage\/(amounts|usageTexts)\.ts$/;
/** A number with its unit in a template, or one formatted on the spot. */
const WORDED =
  /\.toFixed\(|\.toPrecision\(|\.toLocaleString\(|Intl\.NumberFormat|\$\{[^}]*\} (MiB|GiB|kB|MB|GB|%)(?!\w)|\} %</;

it("words numbers in one place", () => {
  const files = ts.sys.readDirectory("src", [".ts", ".tsx"]).filter((file) => !ITSELF.test(file));
  expect(files.length).toBeGreaterThan(400);
  const found = files
    .filter((file) => !DRAWN.test(file) && !LEDGER.test(file))
    .filter((file) => WORDED.test(ts.sys.readFile(file) ?? ""));
  expect(found).toEqual([]);
});
