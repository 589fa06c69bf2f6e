// Pictures of pages for looking at: node dev/shots.mjs <folder> [path…]. Uses the fake server.
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const [folder, ...paths] = process.argv.slice(2);
const base = process.env.BASE ?? "http://127.0.0.1:8799";
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
const sizes = (process.env.SIZES ?? "1440,390").split(",").map(Number);
const themes = (process.env.THEMES ?? "light,dark").split(",");
for (const path of paths)
  for (const width of sizes)
    for (const theme of themes) {
      const page = await browser.newPage({
        viewport: { width, height: width < 700 ? 844 : 900 },
        colorScheme: theme,
        deviceScaleFactor: 1,
      });
      await page.context().addCookies([{ name: "nullops_session", value: "made-up", url: base }]);
      page.on(
        "console",
        (message) =>
          ["error", "warning"].includes(message.type()) &&
          console.log(path, width, theme, message.text()),
      );
      page.on("pageerror", (error) => console.log(path, "PAGE ERROR", error.message));
      await page.goto(base + path);
      await page.waitForTimeout(Number(process.env.WAIT ?? 900));
      const name = path.replace(/^\//, "").replace(/[^a-z0-9]+/gi, "-") || "home";
      await page.screenshot({ path: `${folder}/${name}-${width}-${theme}.png` });
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth > window.innerWidth,
      );
      if (wide) console.log(path, width, "SCROLLS SIDEWAYS");
      await page.close();
    }
await browser.close();
