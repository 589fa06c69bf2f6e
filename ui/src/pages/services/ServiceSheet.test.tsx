import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { me } from "@/api/queries/common";
import { Toasts } from "@/components/Toast";
import { formTexts } from "@/forms/formTexts";
import { serviceTexts as t } from "@/pages/catalogTexts";
import { ServiceSheet } from "./ServiceSheet";

vi.mock("@tanstack/react-router", async (original) => ({
  ...(await original<typeof import("@tanstack/react-router")>()),
  useBlocker: () => undefined,
}));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

beforeEach(() => {
  vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: { items: [{ name: "local", host: "localhost:5000" }] },
    response: new Response(),
  })) as never);
});

function show() {
  const cache = new QueryClient();
  cache.setQueryData(me.queryKey, { name: "ada", role: "admin" } as never);
  return render(
    <QueryClientProvider client={cache}>
      <Toasts>
        <ServiceSheet taken={[]} close={() => undefined} />
      </Toasts>
    </QueryClientProvider>,
  );
}

const { optional } = formTexts;

/** The labels of all fields of the form, in their order. */
function fields() {
  const form = screen.getByLabelText("Registry").closest("form");
  return [...(form?.querySelectorAll("input, select, textarea") ?? [])].map((one) =>
    form?.querySelector(`label[for="${one.id}"]`)?.textContent?.replace(` (${optional})`, ""),
  );
}

const change = (label: string | RegExp, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });

function create() {
  change(/^Name/, "api");
  change("Registry", "local");
  change("Image", "shop/api");
  fireEvent.click(screen.getByText(/^Create/));
}

it("defines a service by a registry, an image and how its tag is chosen", async () => {
  const put = vi.spyOn(client, "PUT").mockResolvedValue({
    data: { changed: true, created: true },
    response: new Response(),
  } as never);
  show();
  await screen.findByText("local (localhost:5000)");
  // promise: N-024
  expect(fields()).toEqual([
    "Name",
    "Registry",
    "Image",
    t.modeLabel,
    t.pattern,
    t.tagDefault,
    t.description,
  ]);
  create();
  await waitFor(() => expect(put).toHaveBeenCalledTimes(1));
  // promise: N-024
  const [, sent] = put.mock.calls[0] as unknown as [string, { body: object }];
  expect(sent.body).toEqual({ registry: "local", image: "shop/api", tag_mode: "selectable" });
});

it("has no pattern of tags where the tag is pinned, and needs the tag then", async () => {
  const put = vi.spyOn(client, "PUT");
  show();
  await screen.findByText("local (localhost:5000)");
  change(t.modeLabel, "pinned");
  // promise: N-024
  expect(fields()).toEqual(["Name", "Registry", "Image", t.modeLabel, t.tag, t.description]);
  create();
  await screen.findByText(t.tagMissing);
  expect(put).not.toHaveBeenCalled();
});
