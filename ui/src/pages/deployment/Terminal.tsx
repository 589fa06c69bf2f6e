import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useCallback, useEffect, useRef, useState } from "react";
import { ask, client, type Deployment } from "@/api/client";
import { Button } from "@/components/Button";
import { describe, EmptyState } from "@/components/States";
import { reachTexts } from "@/reachTexts";
import { useLackOn } from "../shell/useLack";
import { inertStyles, withInertStyles } from "./terminalStyles";

const t = reachTexts.terminal;
const gone = ["removed", "canceled", "failed", "forgotten", "queued"];

/** A terminal in one of the services, for who has full access. */
export default function Terminal({ deployment }: { deployment: Deployment }) {
  const [chosen, setService] = useState("");
  const [opened, setOpened] = useState<{ service: string; time: number }>();
  const reason = useLackOn(deployment);
  // The page may be open before there are services, and while others take their place.
  const all = deployment.services.map((one) => one.step);
  const service = all.includes(chosen) ? chosen : (all[0] ?? "");
  if (all.length === 0 || gone.includes(deployment.status))
    return <EmptyState title={reachTexts.tabs.terminal}>{t.nothing}</EmptyState>;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="row wrap px-4 py-2">
        <label className="row gap-1.5 s">
          {t.service}
          <select
            className="in sm"
            aria-label={t.service}
            value={service}
            onChange={(event) => setService(event.target.value)}
          >
            {all.map((step) => (
              <option key={step}>{step}</option>
            ))}
          </select>
        </label>
        <Button
          small
          look="ink"
          reason={reason}
          onClick={() => setOpened({ service, time: Date.now() })}
        >
          {opened ? t.again : t.open}
        </Button>
        <span className="t3 s">{reason ?? t.noted}</span>
      </div>
      {opened ? <Screen key={opened.time} id={deployment.id} service={opened.service} /> : null}
    </div>
  );
}

type ScreenProps = { id: string; service: string };

function Screen({ id, service }: ScreenProps) {
  const box = useRef<HTMLDivElement>(null);
  const [said, setSaid] = useState<string>(t.opening);
  const say = useCallback((text: string) => setSaid(text), []);
  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    return open(parent, { id, service }, say);
  }, [id, service, say]);
  return (
    <>
      <div ref={box} className="terminal" data-terminal={service} />
      <p className="t2 s px-4 py-1" role="status">
        {said}
      </p>
    </>
  );
}

/** Draws a terminal, connects it, and gives the function that ends both. */
function open(parent: HTMLElement, place: ScreenProps, say: (text: string) => void): () => void {
  const screen = new Xterm({
    documentOverride: inertStyles(document),
    screenReaderMode: true,
    cursorBlink: true,
    fontFamily: getComputedStyle(parent).getPropertyValue("--font-mono") || "monospace",
    fontSize: 13,
    theme: { background: "#16181d", foreground: "#e6e6e6" },
  });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  withInertStyles(document, () => screen.open(parent));
  screen.textarea?.setAttribute("aria-label", t.label(place.service));
  fit.fit();
  let socket: WebSocket | undefined;
  let left = false;
  connect(screen, place, say)
    .then((made) => {
      socket = made;
      if (left) made.close();
    })
    .catch((error: unknown) => say(describe(error).message));
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
  { id, service }: ScreenProps,
  say: (text: string) => void,
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
      say(answer.problem ? (answer.problem.detail ?? answer.problem.title) : "");
      ended = Boolean(answer.problem);
      if (!answer.problem) screen.focus();
      return;
    }
    const [kind, content] = [String.fromCharCode(new Uint8Array(data)[0] ?? 0), data.slice(1)];
    if (kind === "o" || kind === "r") screen.write(new Uint8Array(content));
    if (kind === "x") {
      const end = JSON.parse(decoder.decode(content)) as { code: number; message?: string };
      say(end.message ?? t.exited(end.code));
      ended = true;
    }
  };
  socket.onclose = ({ reason }) => {
    if (!ended) say(t.closed(reason || t.lost));
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
