import { useQuery } from "@tanstack/react-query";
import { Fragment, type ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { CommandLine } from "@/components/CommandLine";
import { ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { installation } from "./installation";

const t = settingsTexts.configured;
type Settings = Schemas["InstallationSettings"];

type Props<T> = {
  texts: { title: string; what: string; none: string; on: string; lines: string };
  of: (settings: Settings) => T | undefined;
  children: (configured: T) => ReactNode;
};

/** Something that is set where the control plane is started: what it is, and how it is changed. */
export function Configured<T>({ texts, of, children }: Props<T>) {
  const query = useQuery(installation);
  const configured = query.data && of(query.data);
  return (
    <>
      <div>
        <h2>{texts.title}</h2>
        <p className="t2">{texts.what}</p>
      </div>
      {query.isPending ? <Skeletons count={4} /> : null}
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data ? (
        <p>
          <StatusMark state={configured ? "ready" : "offline"}>
            {configured ? texts.on : texts.none}
          </StatusMark>
        </p>
      ) : null}
      {configured ? children(configured) : null}
      <p className="hint">{t.how}</p>
      <CommandLine label={t.docs} line={texts.lines} what={t.docs} />
    </>
  );
}

/** Names and values of settings, as they are written or in words. */
export function Values({ all, words }: { all: [string, string][]; words?: boolean }) {
  return (
    <dl className="kv">
      {all.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd className={words ? undefined : "mono wrap-anywhere"}>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
