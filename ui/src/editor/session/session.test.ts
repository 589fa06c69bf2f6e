import { describe, expect, it, vi } from "vitest";
import { ApiError } from "@/api/client";
import { canonical, type Doc, docOf, emptyDoc, pipelineOf } from "../model/document";
import { addNeed, addStep, setField } from "../model/edit";
import { conflictId, threeWay } from "../model/merge";
import type { LocalDraft, LocalDrafts } from "./localDraft";
import type { DraftApi } from "./serverDraft";
import { Session } from "./session";

/** A server with one project: versions, and one draft behind its revision. */
class Server {
  versions: Doc[] = [emptyDoc];
  by = "root";
  draft: { revision: number; base: number; doc?: Doc } = { revision: 0, base: 0 };
  next = 1;
  down = false;
  /** What it answers to everything, such as 429. */
  busy?: ApiError;

  door(): DraftApi {
    const refuse = (code: string) => refusal(409, code);
    const answer = async <T>(act: () => T) => {
      await Promise.resolve();
      if (this.down) throw new TypeError("no network");
      if (this.busy) throw this.busy;
      return act();
    };
    return {
      draft: () => answer(() => structuredClone(this.draft)),
      save: (doc, base, revision) =>
        answer(() => {
          if (revision !== this.draft.revision) throw refuse("draft_changed");
          this.draft = { revision: this.next++, base, doc: structuredClone(doc) };
          return structuredClone(this.draft);
        }),
      drop: (revision) =>
        answer(() => {
          if (revision !== 0 && revision !== this.draft.revision) throw refuse("draft_changed");
          this.draft = { revision: 0, base: 0 };
        }),
      version: (number = this.versions.length - 1) =>
        answer(() => ({ version: number, by: this.by, doc: this.versions[number] ?? emptyDoc })),
      publish: (doc, base) =>
        answer(() => {
          if (base !== this.versions.length - 1) throw refuse("outdated");
          this.versions.push(structuredClone(doc));
          return this.versions.length - 1;
        }),
    };
  }
}

function refusal(status: number, code: string, retryAfter?: number) {
  return new ApiError(status, { type: "", title: "", status, code, request_id: "" }, retryAfter);
}

/** The place of one window after the other, as a browser's storage is. */
class Memory implements LocalDrafts {
  kept?: LocalDraft;
  full = false;
  left = async () => {
    const { kept } = this;
    return kept ? [{ kept, take: () => undefined }] : [];
  };
  write = (kept: LocalDraft | undefined) => {
    if (!this.full) this.kept = kept;
    return !this.full;
  };
  close = () => undefined;
}

const NEVER = 1_000_000_000;
const open = (server: Server, keep: LocalDrafts = new Memory()) =>
  Session.open(server.door(), keep, NEVER);
const envOf = (doc?: Doc) => doc?.steps[0]?.service?.env;
const service = (key: string) => ({ key, service: { name: "web", resources: {} } });

/** Small, fast, the same every time. */
function random(seed: number) {
  let at = seed;
  return (below: number) => {
    at = (at * 1103515245 + 12345) % 2147483648;
    return at % below;
  };
}

describe("a session", () => {
  it("keeps each of 1,000 interleaved edits of two windows", async () => {
    const server = new Server();
    server.versions = [addStep(addStep(emptyDoc, service("a")), service("b"))];
    const windows = [await open(server), await open(server)];
    const pick = random(11);
    const waiting: Promise<void>[] = [];
    for (let i = 0; i < 1000; i++) {
      const window = windows[pick(2)];
      if (!window) continue;
      const key = pick(2) === 0 ? "a" : "b";
      window.change(setField(window.doc, key, `service.env.N${i}`, String(i)));
      // Sometimes it saves, sometimes it is overtaken while it does.
      if (pick(3) === 0) waiting.push(window.flush());
      if (pick(7) === 0) await Promise.all(waiting.splice(0));
    }
    await Promise.all(waiting);
    for (let round = 0; round < 4; round++) for (const window of windows) await window.flush();
    const env = (doc?: Doc) => doc?.steps.flatMap((step) => Object.values(step.service?.env ?? {}));
    expect(new Set(env(server.draft.doc)).size).toBe(1000);
    expect(windows.map((window) => window.state.clash)).toEqual([undefined, undefined]);
  });

  it("asks when both changed one field, and saves neither over the other", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const [mine, theirs] = [await open(server), await open(server)];
    theirs.change(setField(theirs.doc, "a", "service.env.MODE", "theirs"));
    mine.change(setField(mine.doc, "a", "service.env.MODE", "mine"));
    await theirs.flush();
    await mine.flush();
    expect(server.draft.doc?.steps[0]?.service?.env?.MODE).toBe("theirs");
    expect(mine.doc.steps[0]?.service?.env?.MODE).toBe("mine");
    const { clash } = mine.state;
    if (!clash) throw new Error("no clash");
    const { conflicts } = threeWay(clash.base, mine.doc, clash.theirs);
    expect(conflicts.map(conflictId)).toEqual(["a service.env.MODE"]);
    mine.resolve({ "a service.env.MODE": "theirs" });
    await mine.flush();
    expect(mine.doc.steps[0]?.service?.env?.MODE).toBe("theirs");
    expect(mine.state.saving).toBe("saved");
    mine.undo();
    expect(mine.doc.steps[0]?.service?.env?.MODE).toBe("mine");
  });

  it("does not publish over a version that came in between", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const mine = await open(server);
    mine.change(addNeed(addStep(mine.doc, service("b")), "a", "b"));
    server.versions.push(setField(server.versions[0] ?? emptyDoc, "a", "service.env.X", "theirs"));
    expect(await mine.publish()).toBeUndefined();
    expect(mine.state.clash?.kind).toBe("published");
    mine.resolve({});
    expect(await mine.publish()).toBe(2);
    expect(server.versions[2]?.steps.map((step) => step.key)).toEqual(["a", "b"]);
    expect(server.versions[2]?.steps[0]?.service?.env?.X).toBe("theirs");
    expect(server.draft.revision).toBe(0);
  });

  it("keeps in the browser what could not be saved, and draws on from it", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const keep = new Memory();
    const before = await open(server, keep);
    server.down = true;
    before.change(addStep(before.doc, service("b")));
    await before.flush();
    expect(before.state.saving).toBe("offline");
    before.close();
    server.down = false;
    const after = await open(server, keep);
    expect(after.doc.steps.map((step) => step.key)).toEqual(["a", "b"]);
    await after.flush();
    expect(server.draft.doc?.steps).toHaveLength(2);
    expect(keep.kept).toBeUndefined();
  });

  it("saves what is typed without a pause while it is typed", async () => {
    vi.useFakeTimers();
    try {
      const server = new Server();
      const session = await Session.open(server.door(), new Memory(), 800);
      for (let i = 0; i < 20; i++) {
        session.change(addStep(session.doc, service(`s${i}`)));
        await vi.advanceTimersByTimeAsync(400);
      }
      expect(server.draft.doc?.steps.length).toBeGreaterThan(10);
    } finally {
      vi.useRealTimers();
    }
  });

  it("throws a draft away, and brings it back by undo", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const session = await open(server);
    session.change(addStep(session.doc, service("b")));
    await session.flush();
    await session.discard();
    expect(session.doc.steps).toHaveLength(1);
    expect(server.draft.revision).toBe(0);
    session.undo();
    await session.flush();
    expect(server.draft.doc?.steps).toHaveLength(2);
  });

  it("puts what this browser kept on top of a version that came since", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const keep = new Memory();
    const before = await open(server, keep);
    before.change(setField(before.doc, "a", "service.env.MINE", "1"));
    before.close();
    server.versions.push(setField(server.versions[0] ?? emptyDoc, "a", "service.env.THEIRS", "1"));
    const after = await open(server, keep);
    expect(after.state.base).toBe(1);
    expect(envOf(after.doc)).toEqual({ MINE: "1", THEIRS: "1" });
    await after.flush();
    expect(await after.publish()).toBe(2);
    expect(envOf(server.versions[2])).toEqual({ MINE: "1", THEIRS: "1" });
  });

  it("asks when what this browser kept meets a version that came since", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const keep = new Memory();
    const before = await open(server, keep);
    before.change(setField(before.doc, "a", "service.env.MODE", "mine"));
    before.close();
    server.versions.push(setField(server.versions[0] ?? emptyDoc, "a", "service.env.MODE", "x"));
    const after = await open(server, keep);
    expect(after.state.clash).toMatchObject({ kind: "published", number: 1 });
    expect(after.state.base).toBe(0);
    after.resolve({ "a service.env.MODE": "theirs" });
    expect(after.state.base).toBe(1);
    expect(envOf(after.doc)).toEqual({ MODE: "x" });
  });

  it("keeps what another window did when one undoes and does again", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const [mine, theirs] = [await open(server), await open(server)];
    mine.change(setField(mine.doc, "a", "service.env.ONE", "1"));
    await mine.flush();
    mine.change(setField(mine.doc, "a", "service.env.TWO", "2"));
    mine.change(setField(mine.doc, "a", "service.env.THREE", "3"));
    mine.undo();
    theirs.change(setField(theirs.doc, "a", "service.env.THEIRS", "1"));
    await theirs.flush();
    const again = await open(server);
    again.change(setField(again.doc, "a", "service.env.MORE", "1"));
    await again.flush();
    await mine.flush();
    const other = { THEIRS: "1", MORE: "1" };
    expect(envOf(mine.doc)).toEqual({ ONE: "1", TWO: "2", ...other });
    mine.undo();
    expect(envOf(mine.doc)).toEqual({ ONE: "1", ...other });
    mine.undo();
    expect(envOf(mine.doc)).toEqual(other);
    for (let i = 0; i < 3; i++) mine.redo();
    expect(envOf(mine.doc)).toEqual({ ONE: "1", TWO: "2", THREE: "3", ...other });
    mine.undo();
    await mine.flush();
    expect(envOf(server.draft.doc)).toEqual({ ONE: "1", TWO: "2", ...other });
  });

  it("saves theirs over the draft when theirs is chosen", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const mine = await open(server);
    mine.change(setField(mine.doc, "a", "service.env.MODE", "mine"));
    await mine.flush();
    server.versions.push(setField(server.versions[0] ?? emptyDoc, "a", "service.env.MODE", "x"));
    expect(await mine.publish()).toBeUndefined();
    mine.resolve({ "a service.env.MODE": "theirs" });
    await mine.flush();
    expect(server.draft.base).toBe(1);
    const again = await open(server);
    expect(envOf(again.doc)).toEqual({ MODE: "x" });
    expect(again.state.clash).toBeUndefined();
  });

  it("draws on with what another window saved while it published", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const door = server.door();
    const mine = await Session.open(
      {
        ...door,
        publish: async (doc, base) => {
          const version = await door.publish(doc, base);
          const { revision, doc: draft } = server.draft;
          const theirs = setField(draft ?? emptyDoc, "a", "service.env.THEIRS", "1");
          await door.save(theirs, 0, revision);
          return version;
        },
      },
      new Memory(),
      NEVER,
    );
    mine.change(setField(mine.doc, "a", "service.env.MINE", "1"));
    expect(await mine.publish()).toBe(1);
    mine.change(setField(mine.doc, "a", "service.env.NEXT", "1"));
    await mine.flush();
    expect(envOf(server.draft.doc)).toEqual({ MINE: "1", THEIRS: "1", NEXT: "1" });
    expect(server.draft.base).toBe(1);
  });

  it("does not undo a version for a window that has not heard of it", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const [mine, late] = [await open(server), await open(server)];
    mine.change(setField(mine.doc, "a", "service.env.MINE", "1"));
    expect(await mine.publish()).toBe(1);
    late.change(setField(late.doc, "a", "service.env.LATE", "1"));
    await late.flush();
    mine.change(setField(mine.doc, "a", "service.env.NEXT", "1"));
    await mine.flush();
    expect(envOf(server.draft.doc)).toEqual({ MINE: "1", LATE: "1", NEXT: "1" });
    expect(server.draft.base).toBe(1);
  });

  it("keeps here what is drawn while a person has to decide", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const keep = new Memory();
    const [mine, theirs] = [await open(server, keep), await open(server)];
    theirs.change(setField(theirs.doc, "a", "service.env.MODE", "theirs"));
    mine.change(setField(mine.doc, "a", "service.env.MODE", "mine"));
    await theirs.flush();
    await mine.flush();
    expect(mine.state.clash).toBeDefined();
    mine.change(setField(mine.doc, "a", "service.env.LATER", "1"));
    await mine.flush();
    expect(envOf(keep.kept?.doc)).toEqual({ MODE: "mine", LATER: "1" });
  });

  it("asks nothing more of the server once it is closed", async () => {
    vi.useFakeTimers();
    try {
      const server = new Server();
      const session = await Session.open(server.door(), new Memory(), 800);
      session.change(addStep(session.doc, service("a")));
      server.down = true;
      const flushed = session.flush();
      session.close();
      await flushed;
      server.down = false;
      await vi.advanceTimersByTimeAsync(60_000);
      expect(server.draft.revision).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("does not throw away what another window saved since, and asks anew", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const [mine, theirs] = [await open(server), await open(server)];
    mine.change(setField(mine.doc, "a", "service.env.MINE", "1"));
    await mine.flush();
    await theirs.look();
    theirs.change(setField(theirs.doc, "a", "service.env.THEIRS", "1"));
    await theirs.flush();
    expect(await mine.discard()).toBe(false);
    expect(envOf(server.draft.doc)).toEqual({ MINE: "1", THEIRS: "1" });
    expect(envOf(mine.doc)).toEqual({ MINE: "1", THEIRS: "1" });
    expect(await mine.discard()).toBe(true);
    expect(server.draft.revision).toBe(0);
  });

  it("goes on saving when a draft could not be thrown away", async () => {
    vi.useFakeTimers();
    try {
      const server = new Server();
      const session = await Session.open(server.door(), new Memory(), 800);
      session.change(addStep(session.doc, service("a")));
      await session.flush();
      session.change(addStep(session.doc, service("b")));
      server.down = true;
      await expect(session.discard()).rejects.toThrow("no network");
      server.down = false;
      await vi.advanceTimersByTimeAsync(10_000);
      expect(server.draft.doc?.steps).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it("leaves a draft thrown away that another window threw away", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const [mine, theirs] = [await open(server), await open(server)];
    mine.change(setField(mine.doc, "a", "service.env.MINE", "1"));
    await mine.flush();
    await theirs.look();
    expect(envOf(theirs.doc)).toEqual({ MINE: "1" });
    await mine.discard();
    await theirs.look();
    await theirs.flush();
    expect(envOf(theirs.doc)).toBeUndefined();
    expect(server.draft.revision).toBe(0);
  });

  it("saves again when the server wants it later, after as long as it wants", async () => {
    vi.useFakeTimers();
    try {
      const server = new Server();
      const session = await Session.open(server.door(), new Memory(), 800);
      server.busy = refusal(429, "too_many", 30);
      session.change(addStep(session.doc, service("a")));
      await session.flush();
      expect(session.state.saving).toBe("waiting");
      server.busy = undefined;
      await vi.advanceTimersByTimeAsync(20_000);
      expect(server.draft.revision).toBe(0);
      await vi.advanceTimersByTimeAsync(11_000);
      expect(server.draft.doc?.steps).toHaveLength(1);
      expect(session.state.saving).toBe("saved");
    } finally {
      vi.useRealTimers();
    }
  });

  it("says when what is not saved is kept nowhere", async () => {
    const server = new Server();
    const keep = new Memory();
    const session = await open(server, keep);
    keep.full = true;
    server.down = true;
    session.change(addStep(session.doc, service("a")));
    await session.flush();
    expect(session.state.unkept).toBe(true);
    expect(session.keepHere()).toBe(false);
    server.down = false;
    await session.flush();
    expect(session.state.unkept).toBe(false);
    expect(session.keepHere()).toBe(true);
  });

  it("puts what several windows left behind together", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const left = ["ONE", "TWO"].map((name) => {
      const [saved] = server.versions as [Doc];
      const doc = setField(saved, "a", `service.env.${name}`, "1");
      return { kept: { doc, saved, base: 0, revision: 0 }, take: vi.fn() };
    });
    const keep = Object.assign(new Memory(), { left: async () => left });
    const session = await open(server, keep);
    expect(envOf(session.doc)).toEqual({ ONE: "1", TWO: "1" });
    await session.flush();
    expect(envOf(server.draft.doc)).toEqual({ ONE: "1", TWO: "1" });
    for (const { take } of left) expect(take).toHaveBeenCalledOnce();
  });

  it("goes on with a step that a merge calls something else", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const [mine, theirs] = [await open(server), await open(server)];
    const ask = (x: number) => ({
      key: "ask",
      approval: { prompt: "", timeout_seconds: 60 },
      position: { x, y: 0 },
    });
    theirs.change(addStep(theirs.doc, ask(1)));
    mine.change(addStep(mine.doc, ask(2)));
    await theirs.flush();
    await mine.flush();
    expect(mine.state.renamed).toEqual(new Map([["ask", "ask-2"]]));
    expect(mine.doc.steps.find((step) => step.key === "ask-2")?.position?.x).toBe(2);
  });

  it("follows a version at once where nothing is drawn, and tells of it where something is", async () => {
    const server = new Server();
    server.versions = [addStep(emptyDoc, service("a"))];
    const [idle, busy] = [await open(server), await open(server)];
    busy.change(setField(busy.doc, "a", "service.env.MINE", "1"));
    server.versions.push(setField(server.versions[0] ?? emptyDoc, "a", "service.env.X", "1"));
    await idle.look();
    expect([idle.state.base, envOf(idle.doc), idle.state.newer]).toEqual([
      1,
      { X: "1" },
      undefined,
    ]);
    await busy.look();
    expect(busy.state.newer).toEqual({ version: 1, by: "root" });
    expect([busy.state.base, envOf(busy.doc)]).toEqual([0, { MINE: "1" }]);
    await busy.follow();
    expect([busy.state.base, envOf(busy.doc), busy.state.newer]).toEqual([
      1,
      { MINE: "1", X: "1" },
      undefined,
    ]);
  });

  it("takes what is typed after a pause as another edit", async () => {
    vi.useFakeTimers();
    try {
      const session = await open(new Server());
      session.change(addStep(session.doc, service("a")));
      const type = (text: string) =>
        session.change(setField(session.doc, "a", "service.env.X", text), "typing");
      type("1");
      type("12");
      await vi.advanceTimersByTimeAsync(5_000);
      type("123");
      session.undo();
      expect(envOf(session.doc)).toEqual({ X: "12" });
      session.undo();
      expect(envOf(session.doc)).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
  });

  it("writes the same bytes for the same drawing", () => {
    const doc = addNeed(addStep(addStep(emptyDoc, service("a")), service("b")), "a", "b");
    const text = canonical(pipelineOf(doc));
    expect(canonical(pipelineOf(docOf(JSON.parse(text))))).toBe(text);
  });
});
