import { useState } from "react";
import { ApiError } from "@/api/client";
import type { LiveState } from "@/api/live";
import type { LogRow } from "@/components/LogLine";
import { LogView } from "@/components/LogView";
import { LiveBadge } from "@/components/Shell";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { Acted, press, type } from "./Acted";
import { before } from "./examples";
import { Part, Shown } from "./Part";

const row = (number: number, text: string, more: Partial<LogRow> = {}): LogRow => ({
  number,
  at: before(60 - number),
  text,
  ...more,
});

const lines = [
  row(1, "GET https://ghcr.io/v2/ 200"),
  row(2, "\u001b[32mready\u001b[0m to accept \u001b[1;33mconnections\u001b[0m"),
  row(3, "dsn=postgres://app:[secret]@db:5432/shop", { source: "api" }),
  row(9, "<b>text, and no element</b> \u202egnp.exe", { dropped: 5 }),
  row(10, `a long line ${"x".repeat(300)}`, { source: "web", id: "linked" }),
];

/** A log: complete, with a line that was linked, cut at its beginning, and without a line. */
export function Logs() {
  const common = { label: t.sections.log, name: "gallery", empty: t.examples.noLine };
  return (
    <Part title={t.sections.log}>
      <Box>
        <LogView {...common} lines={lines} start={before(60)} end={t.examples.ended} />
      </Box>
      <Box>
        <LogView
          {...common}
          lines={lines}
          cut={1200}
          before={t.examples.earlier}
          target="linked"
          link={() => "#main"}
        />
      </Box>
      <Box>
        <LogView {...common} lines={[]} />
      </Box>
      <Shown name={t.logs.paused}>
        <Paused />
      </Shown>
      <Shown name={t.logs.found}>
        <Acted act={type("input", "s")}>
          <Box>
            <LogView {...common} lines={lines} start={before(60)} />
          </Box>
        </Acted>
      </Shown>
      <Shown name={t.logs.unwrapped}>
        <Acted act={press("[aria-pressed=true][title]")}>
          <Box>
            <LogView {...common} lines={lines} start={before(60)} />
          </Box>
        </Acted>
      </Shown>
    </Part>
  );
}

/** Stopped by somebody who reads; meanwhile 214 lines came. */
function Paused() {
  const [shown, setShown] = useState(lines);
  const pause = (root: HTMLElement) => {
    press(".lf button")(root);
    const came = Array.from({ length: 214 }, (_, i) => row(20 + i, t.examples.line(i + 1)));
    setShown([...lines, ...came]);
  };
  return (
    <Acted act={pause}>
      <Box>
        <LogView label={t.sections.log} name="gallery" empty="" lines={shown} start={before(60)} />
      </Box>
    </Acted>
  );
}

function Box({ children }: { children: React.ReactNode }) {
  return <div className="framed flex h-60 flex-col">{children}</div>;
}

const refused = (status: number) =>
  new ApiError(status, {
    type: "about:blank",
    title: t.wrong,
    status,
    code: "refused",
    request_id: "01937c1e-8a40",
  });

const since = Date.now() - 12_000;
const states: LiveState[] = [
  { kind: "connecting", since },
  { kind: "live", since },
  { kind: "behind", since },
  { kind: "out", since, error: refused(401) },
  { kind: "out", since, error: refused(403) },
  { kind: "out", since, error: refused(404) },
];

/** Whether a page is in step with the server. */
export function Lives() {
  return (
    <Part title={t.sections.live}>
      <div className="row flex-wrap gap-4">
        {states.map((state, i) => (
          <Shown key={t.lives[i]} name={t.lives[i] ?? ""}>
            <LiveBadge state={state} />
          </Shown>
        ))}
      </div>
    </Part>
  );
}
