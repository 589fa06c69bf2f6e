import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { client } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { GateSettings } from "./GateSettings";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

type Stored = { gate: string; redirect_https: boolean };

let stored: Stored;
let tag: number;
let saves: { condition?: string; body: Stored }[];
/** Lets the save that is under way be answered. */
let answer: () => void;

beforeEach(() => {
  [stored, tag, saves] = [{ gate: "members", redirect_https: false }, 1, []];
  vi.spyOn(client, "GET").mockImplementation((async () => ({
    data: stored,
    response: new Response(null, { headers: { ETag: `"${tag}"` } }),
  })) as never);
  vi.spyOn(client, "PUT").mockImplementation(((
    _: string,
    init: { headers: Record<string, string>; body: Stored },
  ) => {
    saves.push({ condition: init.headers["If-Match"], body: init.body });
    return new Promise((done) => {
      answer = () => {
        stored = init.body;
        tag++;
        done({ data: stored, response: new Response() });
      };
    });
  }) as never);
});

let cache: QueryClient;

async function show() {
  cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={cache}>
      <Toasts>
        <GateSettings name="qa" />
      </Toasts>
    </QueryClientProvider>,
  );
  return (await screen.findByLabelText("Who may open its URLs")) as HTMLSelectElement;
}

it("opens an environment to everyone only when that was asked and answered", async () => {
  const select = await show();
  await userEvent.selectOptions(select, "open");
  await screen.findByText("Change who may open URLs of qa?");
  expect(saves).toEqual([]);
  expect(select.value).toBe("members");
  await userEvent.click(screen.getByText("Keep"));
  expect(saves).toEqual([]);
  await userEvent.selectOptions(select, "open");
  await userEvent.click(await screen.findByText("Change it"));
  answer();
  await waitFor(() => expect(select.value).toBe("open"));
  expect(saves).toEqual([{ condition: '"1"', body: { gate: "open", redirect_https: false } }]);
});

it("sends nothing with an old tag while a change is saved", async () => {
  await show();
  const https = screen.getByLabelText("Send plain HTTP on to HTTPS");
  await userEvent.click(https);
  await userEvent.click(https);
  expect(saves).toHaveLength(1);
  answer();
  await waitFor(() => expect(https.closest("section")?.getAttribute("aria-busy")).toBe("false"));
  await userEvent.click(https);
  expect(saves.map((one) => one.condition)).toEqual(['"1"', '"2"']);
});

it("keeps what it read when it can't be read again, and says so", async () => {
  const select = await show();
  vi.mocked(client.GET).mockRejectedValue(new TypeError("nothing answers"));
  await cache.invalidateQueries();
  await screen.findByRole("alert");
  expect(select.isConnected).toBe(true);
  expect(select.value).toBe("members");
});
