import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vitest/config";

// The control plane the development server talks to; the fake one of dev/ by default.
const api = process.env.NULLOPS_URL ?? "http://127.0.0.1:8799";

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
      // "use client" means nothing here; saying so for each file would hide what matters.
      onLog: (level, log, next) => log.code !== "MODULE_LEVEL_DIRECTIVE" && next(level, log),
    },
  },
  // A test reads a page of the documentation too.
  server: { host: "127.0.0.1", proxy: { "/api": api }, fs: { allow: [".", "../docs"] } },
  // A machine that also runs everything else is slow; no test measures time.
  test: {
    testTimeout: 60_000,
    // A document costs more than most tests: only what draws has one, or says so in its first line.
    projects: [
      {
        extends: true,
        test: { name: "pure", environment: "node", isolate: false, include: ["src/**/*.test.ts"] },
      },
      {
        extends: true,
        test: { name: "drawn", environment: "jsdom", include: ["src/**/*.test.tsx"] },
      },
    ],
  },
});
