import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { changesSince } from "./conflict";
import type { Tagged } from "./etag";
import { CheckField, TextField } from "./Fields";
import { FormSheet } from "./FormSheet";
import { useForm } from "./useForm";

afterEach(cleanup);

type Thing = { domain: string; note: string; open: boolean; counted: number };

/** What the server keeps: a save is refused with 412 unless it names the tag of what is there. */
class Server {
  tag = 1;
  saved: Thing[] = [];
  gone = false;
  constructor(public thing: Thing) {}

  change(change: Partial<Thing>) {
    this.thing = { ...this.thing, ...change };
    this.tag++;
  }
  read = (): Tagged<Thing> => ({ value: this.thing, tag: `"${this.tag}"` });
  again = async () => {
    if (this.gone) throw refusal(404);
    return this.read();
  };
  /** What a save waits for before it is answered. */
  slow = Promise.resolve();
  save = async (change: Partial<Thing>, over?: Tagged<Thing>) => {
    await this.slow;
    if (this.gone || over?.tag !== `"${this.tag}"`) throw refusal(412);
    this.change(change);
    this.saved.push(this.thing);
  };
}

const refusal = (status: number) =>
  new ApiError(status, {
    type: "about:blank",
    title: "Refused",
    status,
    code: status === 412 ? "changed_meanwhile" : "not_found",
    request_id: "req-1",
  });

const start = ({ domain, note, open }: Thing) => ({ domain, note, open });

function Sheet({ server, close }: { server: Server; close: () => void }) {
  const form = useForm(start(server.read().value), {
    opened: { ...opened(server), again: server.again },
    valuesOf: start,
    save: (values, over) => server.save(values, over),
    saved: close,
  });
  return (
    <FormSheet title="qa" form={form} onClose={close}>
      <TextField form={form} name="domain" label="Domain" />
      <TextField form={form} name="note" label="Note" />
      <CheckField form={form} name="open" label="Open" />
    </FormSheet>
  );
}

const first = new WeakMap<Server, Tagged<Thing>>();
/** What the form was opened on: read once, as a page does. */
function opened(server: Server): Tagged<Thing> {
  const read = first.get(server) ?? server.read();
  first.set(server, read);
  return read;
}

function show() {
  const server = new Server({ domain: "lab", note: "", open: false, counted: 1 });
  const close = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <Sheet server={server} close={close} />
      </Toasts>
    </QueryClientProvider>,
  );
  return { server, close };
}

const type = async (label: string, text: string) => {
  const field = screen.getByLabelText(label);
  await userEvent.clear(field);
  await userEvent.type(field, text);
};
const save = () => screen.getByRole("button", { name: /Ctrl Enter/ });
const theField = (label: string) => screen.getByLabelText(label) as HTMLInputElement;

/** Both change the domain; they the note too. */
async function meet() {
  const shown = show();
  await type("Domain", "mine");
  shown.server.change({ domain: "theirs", note: "by them" });
  await userEvent.click(save());
  await screen.findByText("Somebody else saved this since you opened it");
  return shown;
}

describe("a form that meets somebody else's save", () => {
  it("shows each field that changed, takes over what only they changed, and saves nothing", async () => {
    const { server, close } = await meet();
    const domain = screen.getByRole("group", { name: "Domain" });
    for (const said of ["theirs", "mine", "When you opened it: lab"])
      within(domain).getByText(said);
    within(screen.getByRole("group", { name: "Note" })).getByText("by them");
    expect(screen.queryByRole("group", { name: "Open" })).toBeNull();
    expect(theField("Note").value).toBe("by them");
    expect(theField("Domain").value).toBe("mine");
    await userEvent.click(save());
    await userEvent.type(theField("Domain"), "{Control>}{Enter}{/Control}");
    expect(server.saved).toEqual([]);
    expect(close).not.toHaveBeenCalled();
    expect(save().getAttribute("aria-disabled")).toBe("true");
    expect(save().title).toMatch(/Choose first/);
  });

  it("saves what was chosen field by field, by keys alone, over what they saved", async () => {
    const { server, close } = await meet();
    expect(document.activeElement?.textContent).toMatch(/Somebody else saved this/);
    await userEvent.tab();
    expect(document.activeElement?.getAttribute("type")).toBe("radio");
    await userEvent.keyboard(" ");
    expect(theField("Domain").value).toBe("theirs");
    await userEvent.keyboard("{Control>}{Enter}{/Control}");
    await waitFor(() => expect(close).toHaveBeenCalled());
    expect(server.thing).toMatchObject({ domain: "theirs", note: "by them" });
  });

  it("takes theirs in all fields that they changed, and keeps what else was typed", async () => {
    const { server } = await meet();
    await userEvent.click(screen.getByLabelText("Open"));
    await userEvent.click(screen.getByRole("button", { name: "Take theirs" }));
    expect(theField("Domain").value).toBe("theirs");
    expect(theField("Open").checked).toBe(true);
    expect(screen.queryByText("Somebody else saved this since you opened it")).toBeNull();
    expect(server.saved).toEqual([]);
  });

  it("saves mine over theirs when told so", async () => {
    const { server, close } = await meet();
    await userEvent.click(screen.getByRole("button", { name: "Save mine over it" }));
    await waitFor(() => expect(close).toHaveBeenCalled());
    expect(server.thing).toMatchObject({ domain: "mine", note: "" });
  });

  it("saves what was typed last when mine is saved over theirs", async () => {
    const { server, close } = await meet();
    await type("Domain", "retyped");
    await userEvent.click(screen.getByRole("button", { name: "Save mine over it" }));
    await waitFor(() => expect(close).toHaveBeenCalled());
    expect(server.thing).toMatchObject({ domain: "retyped", note: "" });
  });

  it("takes nothing while a save is under way, so that none of it is lost", async () => {
    const { server, close } = show();
    let answer = () => {};
    server.slow = new Promise((resolve) => {
      answer = resolve;
    });
    await type("Domain", "mine");
    await userEvent.click(save());
    await userEvent.type(theField("Note"), "too late");
    await userEvent.click(screen.getByLabelText("Open"));
    expect([theField("Note").value, theField("Note").readOnly]).toEqual(["", true]);
    expect(theField("Open").checked).toBe(false);
    answer();
    await waitFor(() => expect(close).toHaveBeenCalled());
    expect(server.thing).toMatchObject({ domain: "mine", note: "", open: false });
  });

  it("takes what is typed again once a save was refused", async () => {
    const { server } = show();
    await type("Domain", "mine");
    server.change({ note: "by them" });
    await userEvent.click(save());
    await screen.findByText("Somebody else saved this since you opened it");
    await type("Note", "by me");
    await userEvent.click(save());
    await waitFor(() => expect(server.thing).toMatchObject({ domain: "mine", note: "by me" }));
  });

  it("takes a field that was typed anew for chosen", async () => {
    const { server, close } = await meet();
    await type("Domain", "agreed");
    await userEvent.click(save());
    await waitFor(() => expect(close).toHaveBeenCalled());
    expect(server.thing).toMatchObject({ domain: "agreed", note: "by them" });
  });

  it("meets a third save as well", async () => {
    const { server } = await meet();
    server.change({ domain: "third" });
    await userEvent.click(screen.getByRole("button", { name: "Save mine over it" }));
    await screen.findByText("third");
    expect(server.saved).toEqual([]);
  });

  it("saves over a change that no field of it shows", async () => {
    const { server, close } = show();
    await type("Domain", "mine");
    server.change({ counted: 2 });
    await userEvent.click(save());
    await waitFor(() => expect(close).toHaveBeenCalled());
    expect(server.thing).toMatchObject({ domain: "mine", counted: 2 });
  });

  it("says that it was deleted, and keeps what was typed", async () => {
    const { server } = show();
    await type("Domain", "mine");
    server.gone = true;
    await userEvent.click(save());
    await screen.findByText(/Somebody else deleted this/);
    expect(theField("Domain").value).toBe("mine");
  });
});

it("a field that both set to the same is no news", () => {
  const changes = changesSince({ a: "1", b: ["x"] }, { a: "2", b: ["y"] }, { a: "2", b: ["x"] });
  expect(changes).toEqual([{ name: "b", opened: ["x"], theirs: ["y"], mine: ["x"], both: false }]);
});
