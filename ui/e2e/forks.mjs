// An admin lets a commit of a fork be deployed, on the page of its rule.
import { createHmac } from "node:crypto";
import { api, freshName, same, send, signIn } from "./browser.mjs";
import { pictures } from "./sources.mjs";

const SECRET = "the-secret-of-this-story-only";

/** Posts what GitHub posts for a pull request that comes from a fork. */
async function push(page, rule, action, commit) {
  const body = JSON.stringify({
    action,
    number: 12,
    pull_request: {
      number: 12,
      state: "open",
      title: "Cart: new look",
      html_url: "https://code.example.invalid/acme/shop/pull/12",
      head: { ref: "cart", sha: commit, repo: { full_name: "eve/shop" } },
      base: { ref: "main", repo: { full_name: "acme/shop" } },
    },
    repository: { full_name: "acme/shop" },
  });
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  const answer = await fetch(new URL(`/hooks/${rule}`, page.url()), {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-GitHub-Event": "pull_request",
      "X-GitHub-Delivery": crypto.randomUUID(),
      "X-Hub-Signature-256": `sha256=${signature}`,
    },
    body,
  });
  same(answer.status, 202, "the answer to the event");
}

export const stories = [
  [
    "a fork's commit is approved on its rule's page, and no commit that came meanwhile",
    async ({ page }) => {
      await signIn(page);
      const rule = freshName("forks").slice(0, 24);
      await send(page, "PUT", `/rules/${rule}`, {
        source: "github",
        project: "shop",
        environment: "qa",
        tag: "{short}",
        forks: true,
        secret: SECRET,
      });
      const review = async () => (await api(page, `/rules/${rule}`)).reviews[0];
      try {
        await push(page, rule, "opened", "aaaaaaa1");
        await page.goto(`/rules?open=${rule}`);
        const sheet = page.getByRole("dialog", { name: rule });
        await sheet.getByText("Waiting for approval").waitFor();
        await pictures(page, "fork-waits");

        await push(page, rule, "synchronize", "bbbbbbb2");
        await sheet.getByRole("button", { name: /^Approve commit aaaaaaa/ }).click();
        await sheet.getByText(/The newest commit is another one/).waitFor();
        same((await review()).awaits_approval, true, "whether the newer commit waits");
        await pictures(page, "fork-newer");

        const approve = sheet.getByRole("button", { name: /^Approve commit bbbbbbb/ });
        await approve.click();
        await approve.waitFor({ state: "detached" });
        await sheet.getByText("Waiting for the image").waitFor();
        same((await review()).awaits_approval, undefined, "whether a commit waits");
      } finally {
        await send(page, "DELETE", `/rules/${rule}`);
      }
    },
  ],
];
