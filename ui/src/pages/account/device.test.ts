import { expect, test } from "vitest";
import { deviceOf } from "./device";

const webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";

test.each([
  [
    `Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/148.0.0.0 Safari/537.36`,
    "Chrome 148 on Linux",
  ],
  [
    `Mozilla/5.0 (X11; Linux x86_64) ${webkit} HeadlessChrome/148.0.0.0 Safari/537.36`,
    "Chrome 148 on Linux",
  ],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/148.0.0.0 Safari/537.36 Edg/148.0.0.0`,
    "Edge 148 on Windows",
  ],
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "Firefox 145 on Windows",
  ],
  [
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15",
    "Safari 26 on macOS",
  ],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/148.0 Mobile/15E148 Safari/604.1",
    "Chrome 148 on iOS",
  ],
  ["nullops/1.0 (linux; amd64)", "nullops/1.0 (linux; amd64)"],
  ["x".repeat(500), "x".repeat(60)],
  ["", ""],
])("%s", (agent, said) => {
  expect(deviceOf(agent)).toBe(said);
});
