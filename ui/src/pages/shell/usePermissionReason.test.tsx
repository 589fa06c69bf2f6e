import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import { type ReactNode, Suspense } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { client, type Deployment, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { texts } from "@/texts";
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

type Explained = Schemas["AccessExplained"];
const NOTHING: Explained = { object: "", level: "none", because: [], ask: ["root", "mira"] };

/** Answers what is asked of the API, and notes which objects were to be explained. */
function answers(person: object, explained: Record<string, Partial<Explained>> = {}) {
  const asked: string[] = [];
  vi.spyOn(client, "GET").mockImplementation((async (path: string, init?: object) => {
    const response = new Response(null, { status: 200 });
    if (path === "/api/v1/me") return { data: person, response };
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

function Retry({ of }: { of: Deployment }) {
  return <Button reason={usePermissionReasonOn(of)}>{of.id}</Button>;
}
function Create() {
  return <Button reason={useReasonNotToCreate()}>New</Button>;
}
function CreateIn({ may }: { may: [boolean, boolean] }) {
  const [project, environment] = ["shop", "qa"].map((name, i) => ({ name, can_create: may[i] }));
  const reason = useReasonNotToCreateIn(
    project as Schemas["Project"],
    environment as Schemas["Environment"],
  );
  return <Button reason={reason}>Create</Button>;
}
function Define() {
  return <Button reason={useReasonNotAdmin()}>Add</Button>;
}
const title = async (name: string) => (await screen.findByRole("button", { name })).title;

describe("a button of what one may not do", () => {
  it("names the missing grant and who can give it, and asks once for all of one place", async () => {
    const missing = "full access takes a team with full access to project shop or environment qa";
    const asked = answers(reader, { "deployment/a": { level: "read", missing } });
    show(
      <>
        <Retry of={deployment("a", "read")} />
        <Retry of={deployment("b", "read")} />
        <Retry of={deployment("c", "full")} />
      </>,
    );
    for (const name of ["a", "b"]) {
      expect(screen.getByRole("button", { name }).title).toMatch(/needs Full on shop/);
      await waitFor(async () => expect(await title(name)).toContain(missing));
      // promise: I-01
      expect(await title(name)).toBe(texts.lack.full("shop", { missing, ask: NOTHING.ask }));
      expect(await title(name)).toContain("root or mira can give it");
    }
    expect(screen.getByRole("button", { name: "c" }).getAttribute("aria-disabled")).toBeNull();
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

it("names three of many admins", () => {
  const said = texts.lack.admin(["ada", "ben", "cleo", "dora"]);
  expect(said).toContain("ada, ben, cleo or another admin can give it.");
  expect(texts.lack.admin([])).toContain("An admin can give it.");
});
