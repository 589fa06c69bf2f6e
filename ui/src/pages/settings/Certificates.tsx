import { useQuery } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { certificates } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { useNow } from "@/components/Time";
import { TimeAhead } from "@/components/TimeAhead";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { useRefresh } from "@/forms/useSaved";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { SOON } from "../fleet/certificateTroubles";
import { Authority } from "./Authority";
import { CertificateSheet } from "./CertificateSheet";

const t = settingsTexts.certificates;

type Certificate = Schemas["Certificate"];

/** What the ingress shows for HTTPS, and the authority that signs for the rest. */
export function Certificates() {
  const query = useQuery(certificates);
  const [adding, setAdding] = useState(false);
  const [replaced, setReplaced] = useState<string>();
  const [asked, setAsked] = useState<Certificate>();
  const refresh = useRefresh(["certificates"]);
  const remove = (name: string) =>
    ask(client.DELETE("/api/v1/certificates/{name}", { params: { path: { name } } }));
  const taken = query.data?.map((one) => one.name) ?? [];
  return (
    <>
      <div className="row wrap">
        <div className="grow basis-72">
          <h2>{t.title}</h2>
          <p className="t2">{t.what}</p>
        </div>
        <Button act={t.add} onClick={() => setAdding(true)}>
          <Plus className="i sm" aria-hidden="true" />
          {t.add}
        </Button>
      </div>
      {query.isPending ? <Skeletons count={3} /> : null}
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data?.length === 0 ? <p className="t2">{t.none}</p> : null}
      {query.data && query.data.length > 0 ? (
        <Table all={query.data} ask={setAsked} replace={setReplaced} />
      ) : null}
      <Authority />
      {adding ? <CertificateSheet taken={taken} close={() => setAdding(false)} /> : null}
      {replaced ? (
        <CertificateSheet taken={taken} replaces={replaced} close={() => setReplaced(undefined)} />
      ) : null}
      {asked ? (
        <ConfirmDelete
          name={asked.name}
          remove={() => remove(asked.name)}
          done={refresh}
          close={() => setAsked(undefined)}
        >
          <p>{t.remove(asked.hosts.join(", "))}</p>
        </ConfirmDelete>
      ) : null}
    </>
  );
}

type TableProps = {
  all: Certificate[];
  ask: (one: Certificate) => void;
  replace: (name: string) => void;
};

function Table({ all, ask: asks, replace }: TableProps) {
  return (
    <div className="tblf framed">
      <table className="tbl">
        <thead>
          <tr>
            <th>{t.columns.name}</th>
            <th>{t.columns.hosts}</th>
            <th className="wide">{t.columns.issuer}</th>
            <th>{t.columns.until}</th>
            <th>
              <span className="vh">{settingsTexts.acts}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {all.map((one) => (
            <tr key={one.name}>
              <td>
                <b title={one.fingerprint}>{one.name}</b>
              </td>
              <td className="mono">{one.hosts.join(", ")}</td>
              <td className="wide t2">{one.issuer}</td>
              <td>
                <Until at={one.not_after} />
              </td>
              <td className="rowacts">
                <Button
                  small
                  look="ghost"
                  aria-label={t.replaceOf(one.name)}
                  onClick={() => replace(one.name)}
                >
                  {t.replace}
                </Button>
                <Button
                  act={t.removeOf(one.name)}
                  small
                  icon
                  look="ghost"
                  aria-label={t.removeOf(one.name)}
                  title={t.removeOf(one.name)}
                  onClick={() => asks(one)}
                >
                  <Trash2 className="i sm" aria-hidden="true" />
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Until({ at }: { at: string }) {
  const left = new Date(at).getTime() - useNow(60);
  return (
    <span className="row nw">
      <TimeAhead at={at} className="t2" />
      {left < 0 ? <StatusMark state="failed">{t.over}</StatusMark> : null}
      {left >= 0 && left < SOON ? <StatusMark state="warn">{t.soon}</StatusMark> : null}
    </span>
  );
}
