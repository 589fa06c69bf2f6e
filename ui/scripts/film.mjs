// The README's moving picture, from the real product: `make film`.
//
// Usage: node scripts/film.mjs FILE
//
// As for screenshots.mjs, a running product is named by NULLOPS_TEST_URL, _USER and _PASSWORD. The
// file is an animated PNG, which browsers and code hosts show wherever they show a PNG.
import { writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { api, launch, open, signIn, until } from "../e2e/browser.mjs";

const file = process.argv[2];
if (!file) throw new Error("say which file the picture goes to");

const SIZE = { width: 880, height: 560 };
/** How often the run is looked at, and the most pictures of it: the file has to stay small. */
const EVERY = 700;
const MOST = 12;

const frames = [];

/** Takes a picture that is shown for so many milliseconds; the same picture again lasts longer. */
async function take(page, shown) {
  await page.evaluate(() => document.fonts.ready);
  const png = await page.screenshot();
  const last = frames.at(-1);
  if (last?.png.equals(png)) last.shown += shown;
  else frames.push({ png, shown });
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}

const numbers = (...all) => {
  const out = Buffer.alloc(4 * all.length);
  for (const [i, n] of all.entries()) out.writeUInt32BE(n, 4 * i);
  return out;
};

/** The chunks of a PNG, by their type. */
function* chunks(png) {
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    yield [png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, at + 8 + length)];
    at += 12 + length;
  }
}

/** Joins pictures of one size into one that moves for ever (APNG). */
function animate(all) {
  const [[, header]] = chunks(all[0].png);
  const out = [all[0].png.subarray(0, 8), chunk("IHDR", header)];
  out.push(chunk("acTL", numbers(all.length, 0)));
  let sequence = 0;
  for (const [i, { png, shown }] of all.entries()) {
    const time = Buffer.alloc(6); // milliseconds; no disposal, no blending
    time.writeUInt16BE(shown, 0);
    time.writeUInt16BE(1000, 2);
    const place = numbers(sequence++, header.readUInt32BE(0), header.readUInt32BE(4), 0, 0);
    out.push(chunk("fcTL", Buffer.concat([place, time])));
    for (const [type, data] of chunks(png)) {
      if (type !== "IDAT") continue;
      if (i === 0) out.push(chunk("IDAT", data));
      else out.push(chunk("fdAT", Buffer.concat([numbers(sequence++), data])));
    }
  }
  out.push(chunk("IEND", Buffer.alloc(0)));
  return Buffer.concat(out);
}

/** Chooses versions and creates, as a person does. */
async function choose(page, name) {
  await page.goto("/deployments/new?project=shop");
  const sheet = page.getByRole("dialog", { name: "New deployment" });
  await sheet.getByLabel("Name").fill(name);
  await sheet.getByText(/ checks? passed/).waitFor();
  await take(page, 1800);
  await sheet.getByRole("button", { name: /^Version of web/ }).click();
  await page.getByRole("option").first().waitFor();
  await take(page, 1500);
  await page
    .getByRole("option", { name: /cart-redesign/ })
    .first()
    .click();
  await page.getByRole("listbox").waitFor({ state: "detached" });
  await sheet.getByText(/ checks? passed/).waitFor();
  await take(page, 1200);
  await sheet.getByRole("button", { name: /^Create deployment/ }).click();
  await page.waitForURL(new RegExp(`/${name}/run`));
}

const name = "cart-redesign";
const browser = await launch();
try {
  const { page } = await open(browser);
  await page.setViewportSize(SIZE);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await signIn(page);
  await choose(page, name);
  const find = async () => (await api(page, `/deployments?name=${name}&limit=1`)).items[0];
  let last;
  await until(
    "the run is done",
    async () => {
      const { status, steps_done } = await find();
      if (frames.length < MOST && steps_done !== last) await take(page, EVERY);
      last = steps_done;
      return status === "ready";
    },
    180_000,
  );
  await page.waitForTimeout(1000);
  await take(page, 2000);
  const { services } = await api(page, `/deployments/${(await find()).id}`);
  await page.goto(services.find(({ step }) => step === "web").url);
  await page.waitForTimeout(1000);
  await take(page, 3000);
} finally {
  await browser.close();
}
writeFileSync(file, animate(frames));
console.log(`film: ${frames.length} pictures in ${file}`);
