import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { Orders } from "./CertificateOrders";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const orders = {
  challenge: "http-01",
  directory: "https://ca.example/dir",
  email: "ops@example.org",
  roots: "",
  dns: "",
  dns_server: "",
  dns_user: "",
  dns_secret_set: false,
  eab_key_id: "",
  eab_key_set: false,
  certificates: [],
};

/** What the server keeps, and the condition of each save. */
let stored = orders;
let tag = 1;
let conditions: string[] = [];

beforeEach(() => {
  [stored, tag, conditions] = [orders, 1, []];
  const answer = (status: number, body: object) => ({
    [status < 300 ? "data" : "error"]: body,
    response: new Response(null, { status, headers: { ETag: `"${tag}"` } }),
  });
  vi.spyOn(client, "GET").mockImplementation((async () =>
    answer(200, stored)) as unknown as typeof client.GET);
  vi.spyOn(client, "PUT").mockImplementation((async (
    _: string,
    init: { headers: Record<string, string>; body: Partial<typeof orders> },
  ) => {
    conditions.push(init.headers["If-Match"] ?? "none");
    if (init.headers["If-Match"] !== `"${tag}"`)
      return answer(412, { title: "Changed", code: "changed_meanwhile" });
    stored = { ...stored, ...init.body };
    tag++;
    return answer(200, stored);
  }) as unknown as typeof client.PUT);
});

let cache: QueryClient;

async function show() {
  const dirty = vi.fn();
  cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={cache}>
      <Toasts>
        <Orders name="qa" dirty={dirty} />
      </Toasts>
    </QueryClientProvider>,
  );
  await screen.findByText("Certificates from an authority");
  return { dirty };
}

const mail = () => screen.getByLabelText(/^E-mail/) as HTMLInputElement;
const save = () => userEvent.click(screen.getByText("Save orders"));
async function type(text: string) {
  await userEvent.clear(mail());
  await userEvent.type(mail(), text);
}

it("saves over what was read, again and again", async () => {
  const { dirty } = await show();
  await type("a@example.org");
  expect(dirty).toHaveBeenLastCalledWith(true);
  await save();
  await waitFor(() => expect(stored.email).toBe("a@example.org"));
  await waitFor(() => expect(dirty).toHaveBeenLastCalledWith(false));
  await type("b@example.org");
  await save();
  await waitFor(() => expect(stored.email).toBe("b@example.org"));
  expect(conditions).toEqual(['"1"', '"2"']);
});

it("overwrites nobody: what both changed is asked", async () => {
  await show();
  await type("mine@example.org");
  [stored, tag] = [{ ...stored, email: "theirs@example.org" }, 7];
  await save();
  await screen.findByText("Somebody else saved this since you opened it");
  expect(stored.email).toBe("theirs@example.org");
  await userEvent.click(screen.getByText("Save mine over it"));
  await waitFor(() => expect(stored.email).toBe("mine@example.org"));
  expect(conditions).toEqual(['"1"', '"7"']);
});

it("says that they can't be read again, and keeps what somebody types", async () => {
  await show();
  const email = (await screen.findByLabelText(/E-mail/)) as HTMLInputElement;
  await userEvent.type(email, "x");
  vi.mocked(client.GET).mockRejectedValue(new TypeError("nothing answers"));
  await cache.invalidateQueries();
  expect((await screen.findByRole("alert")).textContent).toContain("could not be read");
  expect(email.value).toBe("ops@example.orgx");
});
