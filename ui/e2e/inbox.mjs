// The mails that a deployment sent: they come live, and a hostile one neither runs nor loads anything.
import { createServer } from "node:http";
import {
  accessible,
  api,
  check,
  freshName,
  picture,
  RUN,
  same,
  send,
  signIn,
  until,
} from "./browser.mjs";
import { cleanUp } from "./main.mjs";

/** What would tell its server of the reader, run, leave the frame, or take the page over. */
const hostileMail = (
  origin,
) => `<html><head><meta http-equiv="refresh" content="0;url=${origin}/refresh">
<link rel="stylesheet" href="${origin}/style.css"><base href="${origin}/">
<link rel="preconnect" href="${origin}"><LINK/rel="dns-prefetch preconnect prefetch" href="${origin}/next">
<style>body { background: url(${origin}/background.png) } @import "${origin}/import.css";</style></head>
<body onload="top.hacked = 1"><script>parent.hacked = 1; fetch("${origin}/fetch")</script>
<img src="${origin}/pixel.png" onerror="top.hacked = 1"><iframe src="${origin}/frame"></iframe>
<object data="${origin}/object"></object><video src="${origin}/video.mp4" autoplay></video>
<form action="${origin}/form"><button>Pay now</button></form>
<svg><script>top.hacked = 1</script><image href="${origin}/image.svg"/></svg>
<picture><source srcset="${origin}/set.png"><img src="${origin}/set.png"></picture>
<table background="${origin}/table.png"></table><input type="image" src="${origin}/input.png">
<video poster="${origin}/poster.png"></video><embed src="${origin}/embed">
<script type="speculationrules">{"prerender": [{"urls": ["${origin}/prerender"]}]}</script>
<img alt="logo" src="cid:logo@shop"><h1>Win a prize</h1>
<a href="${origin}/link" ping="${origin}/ping">Confirm your address</a></body></html>`;

/** An application that sends its mails when it is told to, with the library of its language. */
const application = (origin) => `
import os, smtplib, time
from email.message import EmailMessage
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082")
def wait(path):
    while not os.path.exists(path):
        time.sleep(0.1)
def post(subject, text, page=None, files=()):
    m = EmailMessage()
    m["From"], m["To"], m["Subject"] = "Shop <shop@example.com>", "Ann <ann@example.com>", subject
    m.set_content(text)
    if page:
        m.add_alternative(page, subtype="html")
        m.get_payload()[1].add_related(PIXEL, "image", "png", cid="<logo@shop>")
    for name, content in files:
        m.add_attachment(content, maintype="application", subtype="pdf", filename=name)
    with smtplib.SMTP("mail", 1025) as s:
        s.login("anybody", "anything")
        s.send_message(m)
wait("/tmp/begin")
for n in range(1, 13):
    post("Order %d was shipped" % n, "Hello Ann,\\n\\nyour order %d is on its way:\\nhttps://shop.example/orders/%d\\n" % (n, n))
post("Grüße und eine Rechnung", "Die Rechnung liegt bei.", files=[("Rechnung Nr. 7.pdf", b"%PDF-1.4 a bill")])
post("Win a prize", "Win!", ${JSON.stringify(hostileMail(origin))})
wait("/tmp/late")
post("A late reminder", "Still there?")
time.sleep(3600)
`;

/** A server elsewhere, what it was asked for, and how many connections to it there were. */
async function elsewhere() {
  const asked = [];
  let connections = 0;
  const server = createServer((request, response) => {
    asked.push({ url: request.url, referer: request.headers.referer });
    response.end("<title>elsewhere</title>");
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    asked,
    connections: () => connections,
    origin: `http://127.0.0.1:${server.address().port}`,
    close: () => server.close(),
  };
}

async function deployed(page, name, origin) {
  const image = { registry: "local", image: "bases/python", tag_mode: "pinned", tag: "3" };
  await send(page, "PUT", `/services/${name}`, image);
  await send(page, "PUT", `/projects/${name}`, { resources: { memory_mib: 128 } });
  const service = { name, command: ["-c", application(origin)], resources: { memory_mib: 64 } };
  await send(page, "PUT", `/projects/${name}/pipeline`, {
    pipeline: { steps: [{ key: "shop", needs: [], service }] },
  });
  const { id } = await send(page, "POST", "/deployments", {
    name,
    project: name,
    environment: "qa",
    versions: {},
  });
  const ready = async () => (await api(page, `/deployments/${id}`)).status === "ready";
  await until("it is ready", ready, RUN);
  return id;
}

/** Has the application go on. */
async function goOn(page, id, file) {
  const status = await page.evaluate(
    async ([id, file]) => {
      const path = `/api/v1/deployments/${id}/services/shop/files?path=/tmp/${file}`;
      const headers = { "Content-Type": "application/octet-stream" };
      return (await fetch(path, { method: "PUT", headers, body: "go" })).status;
    },
    [id, file],
  );
  same(status, 204, `the file ${file} is written`);
}

/** Both widths, and nothing that runs out of the narrow one. */
async function pictures(page, name) {
  await accessible(page, name);
  await picture(page, name);
  await page.setViewportSize({ width: 390, height: 844 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(over <= 0, `${name} is ${over} px too wide at 390`);
  await picture(page, `${name}-390`);
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, `${name}-390-dark`);
  await page.setViewportSize({ width: 1440, height: 900 });
  await picture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
}

/** The hostile mail is shown, and did nothing. Its link opens a page of its own. */
async function readsHostile(page, outside) {
  await page.getByRole("button", { name: /^Win a prize/ }).click();
  const frame = page.frameLocator("iframe.mail-page");
  await frame.getByRole("heading", { name: "Win a prize" }).waitFor();
  const logo = await frame.getByAltText("logo").evaluate((img) => img.naturalWidth);
  same(logo, 1, "the width of the mail's own image");
  await pictures(page, "inbox-page");
  await frame.getByRole("button", { name: "Pay now" }).click();
  await page.waitForTimeout(1000); // what would load would have begun by then
  const hacked = await page.evaluate(() => "hacked" in window);
  const did = { hacked, asked: outside.asked, connections: outside.connections() };
  // promise: W-07
  same(did, { hacked: false, asked: [], connections: 0 }, "what the mail did");
  const opens = page.context().waitForEvent("page");
  await frame.getByRole("link", { name: "Confirm your address" }).click();
  await (await opens).close();
  await until("the link was opened", async () => outside.asked.length > 0);
  same(outside.asked[0].url, "/link", "what the link asked for");
  same(outside.asked[0].referer, undefined, "what the link says of where it was");
  await page.waitForTimeout(1000); // what would tell the sender of it would have come by then
  const pings = outside.asked.filter(({ url }) => url === "/ping");
  same(pings, [], "what tells the sender that the link was opened");
}

async function reads(page, id, outside) {
  await page.goto(`/d/${id}/inbox`);
  await page.getByText("No mails yet").waitFor();
  await pictures(page, "inbox-empty");
  await goOn(page, id, "begin");
  await page.getByRole("button", { name: /^Win a prize/ }).waitFor();
  same(await page.getByRole("list", { name: "Mails" }).getByRole("listitem").count(), 14, "mails");
  await readsHostile(page, outside);

  await page.getByRole("button", { name: /^Grüße und eine Rechnung/ }).click();
  await page.getByText("Die Rechnung liegt bei.").waitFor();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: /^Download Rechnung Nr. 7.pdf/ }).click();
  same((await saved).suggestedFilename(), "Rechnung Nr. 7.pdf", "the attachment's name");
  await page.getByRole("button", { name: "Headers" }).click();
  await page.getByText("multipart/mixed").waitFor();
  await pictures(page, "inbox-header");

  await page.getByRole("searchbox", { name: "Find mails" }).fill("orders/7");
  await page.getByRole("button", { name: /^Order 7 was shipped/ }).waitFor();
  const found = page.getByRole("list", { name: "Mails" }).getByRole("listitem");
  await until("the search is done", async () => (await found.count()) === 1);
  await page.getByRole("searchbox", { name: "Find mails" }).fill("");

  // It comes without anybody asking for it.
  await goOn(page, id, "late");
  // promise: W-07
  await page.getByRole("button", { name: /^A late reminder/ }).click();
  await page.getByText("Still there?").waitFor();
  await pictures(page, "inbox-text");
  await page.getByRole("button", { name: "Delete all" }).click();
  await page
    .locator("[role=dialog], [role=alertdialog]")
    .getByRole("button", { name: "Delete", exact: true })
    .click();
  await page.getByText("No mails yet").waitFor();
}

export const stories = [
  [
    "the inbox of a deployment shows its mails, and a hostile one does nothing",
    async ({ page }) => {
      const name = freshName("mails");
      const outside = await elsewhere();
      let id;
      await signIn(page);
      try {
        id = await deployed(page, name, outside.origin);
        await reads(page, id, outside);
      } finally {
        outside.close();
        if (id) await cleanUp(page, id);
        for (const path of [`/projects/${name}`, `/services/${name}`])
          await send(page, "DELETE", path).catch(() => undefined);
      }
    },
  ],
];
