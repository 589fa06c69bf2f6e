import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { Toasts } from "@/components/Toast";
import { PublishNote } from "./PublishNote";
import type { Session } from "./session";
import { useSheets } from "./useSheets";

type Publish = (note?: string) => Promise<number | undefined>;

type PageProps = { publish: Publish; refused: () => void; more?: object };

function Page({ publish, refused, more }: PageProps) {
  const session = { publish, resolve: () => {}, ...more } as unknown as Session;
  const sheets = useSheets({ project: "shop", session, onRefused: refused });
  return (
    <>
      <button type="button" onClick={() => sheets.open("note")}>
        with a note
      </button>
      <button type="button" onClick={() => sheets.resolve({})}>
        resolve
      </button>
      <button type="button" onClick={sheets.restored}>
        restored
      </button>
      <i>{sheets.sheet}</i>
      {sheets.sheet === "note" ? (
        <PublishNote
          version={2}
          publishing={sheets.publishing}
          note={sheets.note}
          onNote={sheets.setNote}
          onClose={sheets.close}
          onPublish={(note) => void sheets.publish(note)}
        />
      ) : null}
    </>
  );
}

function open(publish: Publish, more?: object) {
  const refused = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <Page publish={publish} refused={refused} more={more} />
      </Toasts>
    </QueryClientProvider>,
  );
  return refused;
}

function begin(publish: Publish) {
  const refused = open(publish);
  fireEvent.click(screen.getByRole("button", { name: "with a note" }));
  const field = screen.getByRole("textbox");
  fireEvent.change(field, { target: { value: "why" } });
  // Cmd is what Ctrl is elsewhere.
  fireEvent.keyDown(field, { key: "Enter", metaKey: true });
  return refused;
}

const note = () => (screen.getByRole("textbox") as HTMLTextAreaElement).value;

afterEach(cleanup);

it("keeps the sheet and its note when publishing is refused, or the link is lost", async () => {
  const publish = vi.fn<Publish>().mockRejectedValue(new TypeError("no network"));
  const refused = begin(publish);
  await waitFor(() => expect(refused).toHaveBeenCalled());
  expect(publish).toHaveBeenCalledWith("why");
  expect(note()).toBe("why");
});

it("keeps the note through a merge, and closes once it is published", async () => {
  const publish = vi.fn<Publish>().mockResolvedValueOnce(undefined).mockResolvedValueOnce(2);
  begin(publish);
  await screen.findByText("merge");
  fireEvent.click(screen.getByText("resolve"));
  expect(note()).toBe("why");
  fireEvent.keyDown(screen.getByRole("textbox"), { key: "Enter", ctrlKey: true });
  await waitFor(() => expect(screen.queryByRole("textbox")).toBeNull());
  expect(publish).toHaveBeenLastCalledWith("why");
});

it("says when a version that was brought back cannot be read, and asks for it again", async () => {
  vi.useFakeTimers();
  try {
    const followRestored = vi.fn().mockRejectedValue(new TypeError("no network"));
    const look = vi.fn(async () => {});
    open(vi.fn(), { followRestored, look });
    fireEvent.click(screen.getByText("restored"));
    await act(() => vi.advanceTimersByTimeAsync(10));
    expect(screen.getByText(/loaded again. no network/)).toBeDefined();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(look).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});
