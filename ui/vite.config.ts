import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vitest/config";

// The control plane the development server talks to; the fake one of dev/ by default.
const api = process.env.NULLOPS_URL ?? "http://127.0.0.1:8799";

// Tests that replace modules would replace them for the tests after them too.
const replacesModules = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.tsx"))
  .map((name) => `src/${name}`)
  .filter((path) => readFileSync(path, "utf8").includes("vi.mock("));

export default defineConfig({
  plugins: [tailwindcss()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "dist",
    // dist/.gitkeep is tracked so that `go:embed` always finds a folder; check-size puts it back.
    emptyOutDir: true,
    // No data: URLs, so that the policy can stay at default-src 'self'.
    assetsInlineLimit: 0,
    // light-dark() is written out as it is.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    manifest: true,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // What the first page needs is one file: compressed together it is smaller than in twenty.
      output: { codeSplitting: { groups: [{ name: "first", tags: ["$initial"] }] } },
      // "use client" means nothing here; saying so for each file would hide what matters.
      onLog: (level, log, next) => log.code !== "MODULE_LEVEL_DIRECTIVE" && next(level, log),
    },
  },
  // A test reads a page of the documentation too.
  server: { host: "127.0.0.1", proxy: { "/api": api }, fs: { allow: [".", "../docs"] } },
  // A machine that also runs everything else is slow; no test measures time.
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A document costs more than most tests: only what draws has one, or says so in its first line.
    // Documents and modules are shared where they can be: made anew for each file, they took five
    // times as long as the tests. src/reset.ts puts back what a test left.
    projects: [
      {
        extends: true,
        test: { name: "pure", environment: "node", isolate: false, include: ["src/**/*.test.ts"] },
      },
      {
        extends: true,
        test: {
          name: "drawn",
          environment: "jsdom",
          isolate: false,
          setupFiles: ["src/reset.ts"],
          include: ["src/**/*.test.tsx"],
          exclude: replacesModules,
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          environment: "jsdom",
          setupFiles: ["src/reset.ts"],
          include: replacesModules,
        },
      },
    ],
  },
});
