import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ReactNode, Suspense } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { client, type Deployment, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { AskSlot, LackLine } from "@/components/lack";
import { texts } from "@/texts";
import AskAdmin from "./AskAdmin";
import {
  usePermissionReasonOn,
  useReasonNotAdmin,
  useReasonNotToCreate,
  useReasonNotToCreateIn,
} from "./usePermissionReason";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  sessionStorage.clear();
});

const AT = "2026-11-27T00:00:00Z";
type Explained = Schemas["AccessExplained"];
const NOTHING: Explained = { object: "", level: "none", because: [], ask: ["root", "mira"] };

/** Answers what is asked of the API, and notes which objects were to be explained. */
function answers(person: object, explained: Record<string, Partial<Explained>> = {}) {
  const asked: string[] = [];
  vi.spyOn(client, "GET").mockImplementation((async (path: string, init?: object) => {
    const response = new Response(null, { status: 200 });
    if (path === "/api/v1/me") return { data: person, response };
    if (path === "/api/v1/me/access-requests") return { data: { items: [] }, response };
    const { object } = (init as { params: { query: { object: string } } }).params.query;
    asked.push(object);
    return { data: { ...NOTHING, object, ...explained[object] }, response };
  }) as unknown as typeof client.GET);
  return asked;
}

function show(children: ReactNode) {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Suspense fallback="…">{children}</Suspense>
    </QueryClientProvider>,
  );
}

const reader = { name: "aiko", role: "user", can_create: false };
const deployment = (id: string, level: string) =>
  ({ id, level, project: "shop", environment: "qa" }) as Deployment;

function Said({ name, reason }: { name: string; reason?: string }) {
  return <output aria-label={name}>{reason}</output>;
}
function Retry({ of }: { of: Deployment }) {
  return <Said name={of.id} reason={usePermissionReasonOn(of)} />;
}
function Create() {
  return <Said name="New" reason={useReasonNotToCreate()} />;
}
function CreateIn({ may }: { may: [boolean, boolean] }) {
  const [project, environment] = ["shop", "qa"].map((name, i) => ({ name, can_create: may[i] }));
  const reason = useReasonNotToCreateIn(
    project as Schemas["Project"],
    environment as Schemas["Environment"],
  );
  return <Said name="Create" reason={reason} />;
}
function Define() {
  return <Said name="Add" reason={useReasonNotAdmin()} />;
}
const title = async (name: string) => (await screen.findByRole("status", { name })).textContent;

describe("why one may not do something", () => {
  it("names the missing grant and who can give it, and asks once for all of one place", async () => {
    const team = "a team with full access to project shop or environment qa";
    const missing = `full access takes ${team}`;
    const asked = answers(reader, { "deployment/a": { level: "read", missing } });
    show(
      <>
        <Retry of={deployment("a", "read")} />
        <Retry of={deployment("b", "read")} />
        <Retry of={deployment("c", "full")} />
      </>,
    );
    for (const name of ["a", "b"]) {
      expect(await title(name)).toMatch(/needs Full on shop/);
      await waitFor(async () => expect(await title(name)).toContain(`shop: ${team}.`));
      // promise: I-01
      expect(await title(name)).toBe(texts.lack.full("shop", { missing, ask: NOTHING.ask }));
      expect(await title(name)).toContain("root or mira can give it");
    }
    expect(await title("c")).toBe("");
    expect(asked).toEqual(["deployment/a"]);
  });

  it("is there for who may nowhere, and asks nothing for who may", async () => {
    answers(reader);
    show(<Create />);
    // promise: I-01
    await waitFor(async () => expect(await title("New")).toContain("root or mira can give it"));
    expect(await title("New")).toMatch(/needs Full on a project or an environment/);
    cleanup();
    const asked = answers({ ...reader, role: "admin", can_create: true });
    show(
      <>
        <Create />
        <Define />
      </>,
    );
    expect(await title("New")).toBe("");
    expect(await title("Add")).toBe("");
    expect(asked).toEqual([]);
  });

  it("says that it takes an admin", async () => {
    answers(reader);
    show(<Define />);
    // promise: I-01
    await waitFor(async () => expect(await title("Add")).toContain("root or mira can give it"));
    expect(await title("Add")).toMatch(/the role Admin/);
  });

  it("knows that Full elsewhere is not Full here", async () => {
    const engineer = { ...reader, can_create: true };
    answers(engineer, { "project/shop": { level: "read" }, "environment/qa": { level: "read" } });
    show(<CreateIn may={[true, true]} />);
    await waitFor(async () => expect(await title("Create")).toMatch(/project shop or on environ/));
    // promise: I-01
    expect(await title("Create")).toContain("root or mira can give it");
    cleanup();
    answers(engineer, { "project/shop": { level: "full" } });
    show(<CreateIn may={[true, true]} />);
    expect(await title("Create")).toBe("");
    cleanup();
    answers(engineer);
    show(<CreateIn may={[true, false]} />);
    expect(await title("Create")).toMatch(/needs Full/);
  });

  it("says whose eyes are looked through, since nothing they may can be done", async () => {
    sessionStorage.setItem("nullops.view-as", "lena");
    answers(reader);
    show(<Retry of={deployment("a", "read")} />);
    expect(await title("a")).toBe(texts.lack.looking("lena"));
  });
});

it("draws no button of what is not theirs, and one line that asks for it", async () => {
  answers(reader);
  const asked = { id: "r1", user: "aiko", object: "admin", wanted: "the role Admin", at: AT };
  const post = vi.spyOn(client, "POST").mockResolvedValue({
    data: asked,
    response: new Response(null, { status: 201 }),
  } as never);
  function Acts() {
    const reason = useReasonNotAdmin();
    return ["Add", "Import"].map((name) => (
      <Button key={name} reason={reason}>
        {name}
      </Button>
    ));
  }
  show(
    <AskSlot value={(reason) => <AskAdmin reason={reason} />}>
      <LackLine />
      <Acts />
    </AskSlot>,
  );
  const line = await screen.findByRole("note");
  // promise: U-05
  await waitFor(() => expect(line.textContent).toContain("root or mira can give it"));
  expect(screen.getAllByRole("note")).toHaveLength(1);
  // promise: U-05
  expect(screen.queryByRole("button", { name: /Add|Import/ })).toBeNull();
  await userEvent.click(await screen.findByRole("button", { name: "Ask" }));
  await screen.findByText(/You asked the admins/);
  expect(post.mock.calls[0]).toEqual(["/api/v1/me/access-requests", { body: { object: "admin" } }]);
});

it("names three of many admins", () => {
  const said = texts.lack.admin(["ada", "ben", "cleo", "dora"]);
  expect(said).toContain("ada, ben, cleo or another admin can give it.");
  expect(texts.lack.admin([])).toContain("An admin can give it.");
});
