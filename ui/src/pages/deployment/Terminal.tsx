import "./terminal.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { ask, client, type Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { isLack, useShownLack } from "@/components/lack";
import { describeError, EmptyState } from "@/components/States";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { usePermissionReasonOn } from "../shell/usePermissionReason";
import { keyFor } from "./terminalKeys";
import { inertStyles, withInertStyles } from "./terminalStyles";
import { useSearchChange } from "./useSearchChange";

const t = reachTexts.terminal;
const gone = ["removed", "canceled", "failed", "forgotten", "queued"];

/** `chosen` is the service that the address names. */
type Props = { deployment: Deployment; chosen?: string };

/** A terminal in one of the services, for who has full access. */
export default function Terminal({ deployment, chosen = "" }: Props) {
  const change = useSearchChange();
  const tools = useRef<HTMLSelectElement>(null);
  const [opened, setOpened] = useState<{ service: string; time: number }>();
  const reason = usePermissionReasonOn(deployment);
  useShownLack(reason);
  // The page may be open before there are services, and while others take their place.
  const all = deployment.services.map((one) => one.step);
  const service = all.includes(chosen) ? chosen : (all[0] ?? "");
  if (all.length === 0 || gone.includes(deployment.status))
    return <EmptyState title={reachTexts.tabs.terminal}>{t.nothing}</EmptyState>;
  if (isLack(reason)) return <EmptyState title={reachTexts.tabs.terminal}>{reason}</EmptyState>;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="row wrap px-4 py-2">
        <label className="row gap-1.5 s">
          {t.service}
          <select
            ref={tools}
            className="in sm"
            aria-label={t.service}
            value={service}
            onChange={(event) => change({ log: event.target.value })}
          >
            {all.map((step) => (
              <option key={step}>{step}</option>
            ))}
          </select>
        </label>
        <Button
          small
          look="ink"
          act={opened ? t.again : t.open}
          onClick={() => setOpened({ service, time: Date.now() })}
        >
          {opened ? t.again : t.open}
        </Button>
        <span className="t3 s">{t.noted}</span>
      </div>
      {opened ? (
        <Screen key={opened.time} id={deployment.id} service={opened.service} tools={tools} />
      ) : null}
    </div>
  );
}

type Place = { id: string; service: string };

/** `tools` is where the keyboard goes that leaves the terminal. */
function Screen({ id, service, tools }: Place & { tools: RefObject<HTMLElement | null> }) {
  const box = useRef<HTMLDivElement>(null);
  const [said, setSaid] = useState<string>(t.opening);
  const say = useCallback((text: string) => setSaid(text), []);
  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    return open(parent, { id, service }, say, () => tools.current?.focus());
  }, [id, service, say, tools]);
  return (
    <>
      <div ref={box} className="terminal" data-terminal={service} />
      <div className="row wrap s px-4 py-1">
        <span className="t2" role="status">
          {said}
        </span>
        <span className="t3 end">
          {t.leave} <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>X</kbd>
        </span>
      </div>
    </>
  );
}

/** Opens and connects a terminal; returns the cleanup function. */
function open(
  parent: HTMLElement,
  place: Place,
  say: (text: string) => void,
  leave: () => void,
): () => void {
  const screen = new Xterm({
    documentOverride: inertStyles(document),
    screenReaderMode: true,
    cursorBlink: true,
    fontFamily: getComputedStyle(parent).getPropertyValue("--font-mono") || "monospace",
    fontSize: 13,
    // The dark theme's ground and text of logs, in both themes: programs choose their colours for it.
    theme: { background: "#070b0a", foreground: "#e9eeec" },
  });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  withInertStyles(document, () => screen.open(parent));
  screen.textarea?.setAttribute("aria-label", t.label(place.service));
  fit.fit();
  screen.attachCustomKeyEventHandler((event) => {
    const goal = keyFor(event, parent.dataset.ended !== undefined);
    if (goal !== "leave") return goal === "shell";
    event.preventDefault();
    if (event.type === "keydown") leave();
    return false;
  });
  let socket: WebSocket | undefined;
  let left = false;
  delete parent.dataset.ended;
  const end = (text?: string) => {
    // What is closed because it was left says nothing of what stands in its place.
    if (left) return;
    parent.dataset.ended = "";
    if (text) say(text);
  };
  connect(screen, place, say, end)
    .then((made) => {
      socket = made;
      if (left) made.close();
    })
    .catch((error: unknown) => end(describeError(error).message));
  const sized = new ResizeObserver(() => fit.fit());
  sized.observe(parent);
  return () => {
    left = true;
    sized.disconnect();
    socket?.close();
    screen.dispose();
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One message: what it is, and its content. */
function frame(kind: string, content: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(kind + content) as Uint8Array<ArrayBuffer>;
}

/** Asks for a ticket and shows it in the first message: it is never in an address. */
async function connect(
  screen: Xterm,
  { id, service }: Place,
  say: (text: string) => void,
  end: (text?: string) => void,
): Promise<WebSocket> {
  const path = { id, step: service };
  const { ticket } = await ask(
    client.POST("/api/v1/deployments/{id}/services/{step}/tickets", {
      params: { path },
      body: { kind: "terminal" },
    }),
  );
  const socket = new WebSocket(new URL("/api/v1/reach", window.location.href));
  socket.binaryType = "arraybuffer";
  const size = () => ({ cols: screen.cols, rows: screen.rows });
  let ended = false;
  socket.onopen = () => socket.send(JSON.stringify({ ticket, tty: true, window: size() }));
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data === "string") {
      const answer = JSON.parse(data) as { problem?: { detail?: string; title: string } };
      ended = Boolean(answer.problem);
      if (answer.problem) return end(answer.problem.detail ?? answer.problem.title);
      say("");
      screen.focus();
      return;
    }
    const [kind, content] = [String.fromCharCode(new Uint8Array(data)[0] ?? 0), data.slice(1)];
    if (kind === "o" || kind === "r") screen.write(new Uint8Array(content));
    if (kind === "x") {
      const last = JSON.parse(decoder.decode(content)) as { code: number; message?: string };
      end(last.message ?? t.exited(last.code));
      ended = true;
    }
  };
  socket.onclose = ({ reason }) => {
    end(ended ? undefined : t.closed(reason || t.lost));
  };
  const send = (data: Uint8Array<ArrayBuffer>) =>
    socket.readyState === WebSocket.OPEN && socket.send(data);
  screen.onData((text) => {
    // A pasted text may be longer than a message may be.
    for (let at = 0; at < text.length; at += 8192) send(frame("d", text.slice(at, at + 8192)));
  });
  screen.onResize(() => send(frame("w", JSON.stringify(size()))));
  return socket;
}
