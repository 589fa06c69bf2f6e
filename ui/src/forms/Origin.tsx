import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { createContext, useContext } from "react";
import type { Schemas } from "@/api/client";
import { me } from "@/api/queries/common";
import { origin } from "@/api/queries/sources";
import { BidiSafe } from "@/components/BidiSafe";
import { shortCommit } from "@/components/commit";
import { formTexts as t } from "@/forms/formTexts";

type Kind = Schemas["DocumentKind"];
type Definition = { kind: Kind; name: string };

/** What the open sheet shows, if documents can define it. */
export const Shown = createContext<Definition | undefined>(undefined);

const kinds: Record<string, Kind> = {
  environments: "environment",
  nodes: "node",
  plugins: "plugin",
  projects: "project",
  registries: "registry",
  rules: "rule",
  services: "service",
  teams: "team",
  users: "user",
  webhooks: "webhook",
};

/** The kind of documents that define a kind of things, named in the plural. */
export const toDocumentKind = (plural: string): Kind | undefined => kinds[plural];

/**
 * Says, to admins, that documents define what the sheet shows: a change made here differs from
 * them from then on.
 */
export function Origin() {
  const shown = useContext(Shown);
  return shown ? <OriginOf {...shown} /> : null;
}

function OriginOf({ kind, name }: Definition) {
  const admin = useQuery(me).data?.role === "admin";
  const query = useQuery({ ...origin(kind, name), enabled: admin });
  const { owner, source } = query.data ?? {};
  if (!owner) return null;
  if (!source) return <p className="box t2">{t.ownedBy(owner)}</p>;
  return (
    <p className="box t2">
      <span className="grow">
        {t.definedIn}{" "}
        <Link className="link" to="/sources" search={{ open: source.name }}>
          {source.name}
        </Link>
        {source.applied ? (
          <>
            {" "}
            {t.atCommit} <span className="mono">{shortCommit(source.applied.hash)}</span>
          </>
        ) : null}{" "}
        (
        <span className="mono">
          <BidiSafe text={source.url} />
        </span>
        ). {t.becomesDrift}
      </span>
    </p>
  );
}
