import { expect, it } from "vitest";
import { localeFor } from "@/locale";

const at = new Date(2026, 10, 21, 15, 4);
const written = (...languages: string[]) =>
  new Intl.DateTimeFormat(localeFor(languages), { dateStyle: "short", timeStyle: "short" })
    .format(at)
    .replace(/\s/g, " ");

it("writes moments in the order and by the clock of the reader, in the language of the texts", () => {
  expect(written("en-US", "en")).toBe("11/21/26, 3:04 PM");
  expect(written("en-GB")).toBe("21/11/2026, 15:04");
  expect(written("de", "en-US")).toMatch(/^21\/11\/2026, 15:04$/);
  expect(written("ja-JP")).toMatch(/15:04$/);
  expect(localeFor([])).toBe("en-GB");
});
