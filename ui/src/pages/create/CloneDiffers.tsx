import type { Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { sayField } from "@/components/fieldTexts";
import { formatBytes, formatNumber } from "@/components/quantity";
import { deployTexts } from "@/pages/deployTexts";

const t = deployTexts.clone;
type Sheet = Schemas["CloneSheet"];

type Props = {
  clone: Sheet;
  /** Where it will be made, and at which versions. */
  environment?: string;
  chosen: { step: string; value: string }[];
};

/** What a clone will not have in common with its source, and what comes along. */
export function CloneDiffers({ clone, environment, chosen }: Props) {
  const { source, pipeline_changes: changes } = clone;
  const moved = clone.services.filter((one) => one.state !== "same");
  return (
    <section aria-label={t.differs} className="flex flex-col gap-2">
      <h2>{t.differs}</h2>
      {moved.map((one) => (
        <p key={one.step}>
          <b>{one.step}</b>{" "}
          <span className="t2">{one.state === "added" ? t.added : t.removed}</span>
        </p>
      ))}
      <p>
        {changes.length === 0
          ? t.pipelineSame(clone.pipeline_version)
          : t.pipeline(source.pipeline_version, clone.pipeline_version)}
      </p>
      <ul className="flex flex-col gap-1">
        {changes.map((change) => (
          <li key={`${change.step} ${change.kind}`}>
            <b>{change.step}</b> <span className="t2">{t.kinds[change.kind]}</span>
            <ul className="pl-4">
              {change.fields.map((field) => (
                <li key={field.path} className="s">
                  <span className="t2">{sayField(field.path)}</span> <Value value={field.before} />{" "}
                  → <Value value={field.after} />
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      <Room before={clone.resources.before} after={clone.resources.after} />
      <List title={t.carried} items={carried(clone, environment, chosen)} />
      <List title={t.notCarried} items={clone.not_carried_over} />
    </section>
  );
}

/** What the form has in common with the source now; the API tells it of the sheet as it was opened. */
function carried(
  { source, services }: Sheet,
  environment: Props["environment"],
  chosen: Props["chosen"],
) {
  const place = source.environment === environment ? t.place : t.project;
  const same = chosen.filter(({ step, value }) =>
    services.some((one) => one.step === step && one.state === "same" && one.source_tag === value),
  );
  return [place, ...same.map(({ step, value }) => `${step}:${value}`)];
}

function Value({ value }: { value: unknown }) {
  if (value === undefined) return <span className="t3">{t.absent}</span>;
  return (
    <span className="mono break-all">
      <BidiSafe text={typeof value === "string" ? value : JSON.stringify(value)} />
    </span>
  );
}

type Resources = Sheet["resources"]["before"];

function Room({ before, after }: { before: Resources; after: Resources }) {
  const say = (one: Resources) =>
    t.limit(formatNumber(one.cpu ?? 0), formatBytes((one.memory_mib ?? 0) * 1024 * 1024));
  if (say(before) === say(after)) return null;
  return <p className="t2">{t.room(say(before), say(after))}</p>;
}

function List({ title, items }: { title: string; items: string[] }) {
  if (items.length === 0) return null;
  return (
    <p className="s t2">
      <b>{title}:</b> {items.join(", ")}
    </p>
  );
}
