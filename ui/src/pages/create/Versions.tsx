import { useQueries } from "@tanstack/react-query";
import { Lock } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { Refusal } from "@/components/Field";
import { MiddleTruncate } from "@/components/MiddleTruncate";
import { shortImage } from "@/components/names";
import { TagPicker } from "@/components/TagPicker";
import { createTexts } from "@/pages/create/createTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";
import type { Refusal as Refused } from "./refusal";
import { SourceVersion } from "./SourceVersion";
import { TagsUnread } from "./TagsUnread";

const t = createTexts;

type Project = Schemas["Project"];
type Service = Schemas["ProjectService"];

/**
 * What is chosen for each service that has a choice: by hand, or what the sheet began with (a clone, a
 * template), or the default of its service. `opened` was chosen by hand before: the address has it.
 */
export function useVersions(
  project: Project | undefined,
  begun: Record<string, string>,
  opened: Record<string, string>,
) {
  const selectable = (project?.services ?? []).filter(
    (service) => service.tag_mode === "selectable",
  );
  const [byHand, setByHand] = useState(() => ({ [project?.name ?? ""]: opened }));
  const own = byHand[project?.name ?? ""] ?? {};
  const [last, setLast] = useState<string>();
  const first = useQueries({
    queries: selectable.map((service) => ({
      queryKey: ["tags", service.service, "first"],
      queryFn: () =>
        ask(
          client.GET("/api/v1/services/{name}/tags", {
            params: { path: { name: service.service }, query: { limit: 50 } },
          }),
        ),
      staleTime: 15_000,
    })),
  });
  const chosen = selectable.map((service, i) => {
    const list = first[i]?.data;
    const standard = service.tag ?? list?.default ?? list?.items[0]?.tag ?? "";
    return { step: service.step, value: own[service.step] ?? begun[service.step] ?? standard };
  });
  const reads = new Map(selectable.map((service, i) => [service.step, first[i]]));
  const choose = (step: string, tag: string, named = tag) => {
    const of = project?.name ?? "";
    setByHand((before) => ({ ...before, [of]: { ...before[of], [step]: tag } }));
    setLast(named);
  };
  const branches = [
    ...new Set(
      first.flatMap((query) => query.data?.items ?? []).flatMap((tag) => tag.branch ?? []),
    ),
  ];
  /** `byHand` is the tag that the user chose last, or its branch: the basis of a suggested name. */
  return { chosen, reads, choose, byHand: last, own, branches };
}

type Props = {
  project: Project;
  versions: ReturnType<typeof useVersions>;
  /** By `versions.STEP`, among the refusals of the other fields. */
  refused: Refused["fields"];
  changed: () => void;
  branch?: ReactNode;
  /** What a clone's source runs, by step. */
  source?: Map<string, Schemas["CloneService"]>;
};

/** A row for each service: a picker, or what the pipeline pins. */
export function Versions({ project, versions, refused, changed, branch, source }: Props) {
  const services = project.services ?? [];
  const open = services.filter((service) => service.tag_mode === "selectable");
  const pinned = services.filter((service) => service.tag_mode === "pinned");
  return (
    <section aria-label={t.versions} className="flex flex-col gap-2">
      <div className="row">
        <h2>{t.versions}</h2>
        <span className="t3 s">{t.count(open.length, pinned.length)}</span>
      </div>
      {open.length > 0 ? branch : null}
      <div className="svs">
        {open.map((service) => (
          <div key={service.step} className="sv">
            <Name service={service} />
            <TagPicker
              reading={versions.reads.get(service.step)?.isPending}
              service={service.service}
              step={service.step}
              value={versions.chosen.find((one) => one.step === service.step)?.value ?? ""}
              invalid={Boolean(refused[`versions.${service.step}`])}
              onChange={(tag) => {
                versions.choose(service.step, tag);
                changed();
              }}
            />
            <SourceVersion
              was={source?.get(service.step)}
              now={versions.chosen.find((one) => one.step === service.step)?.value}
              choose={(tag) => {
                versions.choose(service.step, tag);
                changed();
              }}
            />
            <TagsUnread read={versions.reads.get(service.step)} />
            <At step={service.step} refused={refused} />
          </div>
        ))}
        {pinned.map((service) => (
          <div key={service.step} className="sv pin">
            <Name service={service} />
            <div className="in locked">
              <Lock className="i sm t3" aria-hidden="true" />
              <MiddleTruncate text={service.tag ?? ""} className="grow" />
              <span className="t3 s nw">{t.pinned}</span>
            </div>
            <SourceVersion was={source?.get(service.step)} now={service.tag} />
            <At step={service.step} refused={refused} />
          </div>
        ))}
      </div>
    </section>
  );
}

function At({ step, refused }: { step: string; refused: Refused["fields"] }) {
  const said = refused[`versions.${step}`];
  return said ? <Refusal>{said}</Refusal> : null;
}

function Name({ service }: { service: Service }) {
  return (
    <div className="col">
      <b className="tr">{service.step}</b>
      <span className="hint tr" title={service.image}>
        {service.job ? `${pageTexts.job} ` : null}
        <span className="mono">{shortImage(service.image)}</span>
      </span>
    </div>
  );
}
