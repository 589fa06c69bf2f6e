import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { pipelineVersion } from "@/api/queries/catalog";
import type { Catalogue } from "../model/catalogue";
import { type Doc, pipelineOf } from "../model/document";
import { begin } from "../session/history";
import { withCatalogueCopy } from "./catalogueCopy";
import { useComparison } from "./useComparison";

const postgres = (tag: string): Catalogue => {
  const service = { name: "postgres", registry: "hub", registry_host: "docker.io" };
  const pinned = { ...service, image: "postgres", tag_mode: "pinned" as const, tag };
  return { services: new Map([["postgres", pinned]]), plugins: new Map(), secrets: [] };
};
const drawn: Doc = { steps: [{ key: "db", service: { name: "postgres" } }], comments: [] };
const version: Schemas["PipelineVersion"] = {
  version: 1,
  created_at: "",
  created_by: "root",
  digest: "",
  pipeline: { ...pipelineOf(drawn), steps: withCatalogueCopy(drawn, postgres("16.2")).steps },
};

/** The drawing of version 1, as it is after it was published, against the catalogue as it is now. */
function compare(tag: string, changes?: boolean) {
  const client = new QueryClient();
  client.setQueryData(pipelineVersion("shop", 1).queryKey, version);
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const state = { history: begin(drawn), base: 1, published: drawn, saving: "saved" as const };
  const catalogue = postgres(tag);
  const asked = { project: "shop", state, tab: "changes" as const, catalogue, changes };
  return renderHook(() => useComparison(asked), { wrapper }).result.current;
}

it("counts what the catalogue changed since as a change that can be published", () => {
  const { own, differs, drawn } = compare("16.3", true);
  expect(differs).toBe(false);
  expect(drawn().changes).toEqual([]);
  expect(own.changes.map((one) => one.fields[0]?.now)).toEqual(["docker.io/postgres:16.3"]);
  expect(compare("16.2").own.changes).toEqual([]);
});

it("has no change where the server says that there is none", () => {
  expect(compare("16.3", false).own.changes).toEqual([]);
});
