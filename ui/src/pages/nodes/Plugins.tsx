import type { Schemas } from "@/api/client";
import { StatusMark } from "@/components/Status";
import { nodeTexts } from "@/nodeTexts";

const t = nodeTexts.plugins;

type Held = Schemas["NodePlugin"];

const states: Record<Held["state"], string> = {
  here: "done",
  pulling: "applying",
  waiting: "queued",
  failed: "failed",
};

/** Which plugins of the catalogue wait on the node; a run pulls the others. */
export function Plugins({ plugins }: { plugins: Held[] }) {
  const here = plugins.filter((one) => one.state === "here");
  const open = plugins.filter((one) => one.state !== "here");
  return (
    <section className="px-4 pb-3" aria-labelledby="plugins">
      <h2 id="plugins" className="mb-1">
        {t.title(here.length, plugins.length)}
      </h2>
      <ul className="checks">
        {open.map((one) => (
          <Plugin key={one.name} plugin={one} />
        ))}
      </ul>
      {here.length > 0 ? (
        <details>
          <summary className="t2">{t.here(here.length)}</summary>
          <ul className="checks">
            {here.map((one) => (
              <Plugin key={one.name} plugin={one} />
            ))}
          </ul>
        </details>
      ) : null}
    </section>
  );
}

function Plugin({ plugin }: { plugin: Held }) {
  return (
    <li>
      <StatusMark state={states[plugin.state]}>{t.states[plugin.state]}</StatusMark>
      <div className="min-w-0">
        <p>
          <b>{plugin.name}</b> <span className="mono s t3 break-all">{plugin.image}</span>
        </p>
        {plugin.detail ? <p className="t2 break-words">{plugin.detail}</p> : null}
      </div>
    </li>
  );
}
