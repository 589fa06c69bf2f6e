import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import type { Catalogue } from "../model/catalogue";
import type { Doc } from "../model/document";
import { versionChanges, withCatalogueCopy } from "./catalogueCopy";

const service = (tag: string): Schemas["Service"] => ({
  name: "postgres",
  registry: "hub",
  registry_host: "docker.io",
  image: "postgres",
  tag_mode: "pinned",
  tag,
});
const catalogue = (tag: string): Catalogue => ({
  services: new Map([["postgres", service(tag)]]),
  plugins: new Map(),
  secrets: [],
});
const doc: Doc = { steps: [{ key: "db", service: { name: "postgres" } }], comments: [] };

it("tells of a tag that the catalogue moved since, though nothing was drawn", () => {
  const published = withCatalogueCopy(doc, catalogue("16.2"));
  expect(versionChanges(published, withCatalogueCopy(doc, catalogue("16.2")))).toEqual([]);
  expect(versionChanges(published, withCatalogueCopy(published, catalogue("16.3")))).toEqual([
    {
      key: "db",
      kind: "changed",
      fields: [
        {
          path: "service.image",
          old: "docker.io/postgres:16.2",
          now: "docker.io/postgres:16.3",
        },
      ],
    },
  ]);
});
