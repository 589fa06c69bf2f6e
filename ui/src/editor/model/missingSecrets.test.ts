import { expect, it } from "vitest";
import type { Catalogue } from "./catalogue";
import type { Doc } from "./document";
import { missingSecrets } from "./missingSecrets";
import { problemsOf } from "./problems";

const known = { services: new Map([["web", {}]]), plugins: new Map(), secrets: ["HERE"] };
const catalogue = known as unknown as Catalogue;
const doc: Doc = {
  steps: [
    {
      key: "web",
      service: {
        name: "web",
        resources: { memory_mib: 64 },
        env: { A: "${{ secrets.GONE }}${{ secrets.HERE }}", B: "${{ services.db.host }}" },
      },
    },
  ],
  comments: [],
};

it("names the secrets that a problem could be solved with", () => {
  const found = problemsOf(doc, catalogue).map((one) => missingSecrets(one, doc, catalogue));
  expect(found).toEqual([["GONE"], []]);
});
