import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ArrowLeftRight, ChevronRight } from "lucide-react";
import type { Schemas } from "@/api/client";
import { difference } from "@/api/queries/deployments";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { splitField } from "@/components/fieldTexts";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { diffTexts } from "@/pages/diff/diffTexts";
import { DeploymentPicker } from "./DeploymentPicker";

const t = diffTexts;
const route = getRouteApi("/app/deployments/diff");

/** Two deployments side by side: only what differs. Which two is in the address. */
export function Diff() {
  const { a, b } = route.useSearch();
  const navigate = route.useNavigate();
  const go = (search: { a?: string; b?: string }) => void navigate({ to: ".", search });
  useTitle(t.title);
  return (
    <>
      <Top>
        <div className="crumb">
          <Link to="/deployments" search={{}}>
            {pageTexts.crumbs}
          </Link>
          <ChevronRight className="i sm" aria-hidden="true" />
          <h1>{t.title}</h1>
        </div>
      </Top>
      <div className="row wrap items-end p-4">
        <DeploymentPicker label={t.left} id={a} onPick={(id) => go({ a: id, b })} />
        <Button
          act={t.swap}
          look="ghost"
          icon
          aria-label={t.swap}
          title={t.swap}
          onClick={() => go({ a: b, b: a })}
        >
          <ArrowLeftRight className="i sm" aria-hidden="true" />
        </Button>
        <DeploymentPicker label={t.right} id={b} onPick={(id) => go({ a, b: id })} />
      </div>
      {a && b ? <Fields a={a} b={b} /> : <EmptyState title={t.pickTitle}>{t.pick}</EmptyState>}
    </>
  );
}

function Fields({ a, b }: { a: string; b: string }) {
  const query = useQuery(difference(a, b));
  if (query.isPending) return <Skeletons count={6} />;
  if (query.isError)
    return <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />;
  const { left, right, fields } = query.data;
  if (fields.length === 0) return <EmptyState title={t.same}>{t.sameHint}</EmptyState>;
  return (
    <div className="body tblf">
      <p className="t2 px-4 pb-2" role="status">
        {t.count(fields.length)}
      </p>
      <table className="tbl">
        <thead>
          <tr>
            <th>{t.field}</th>
            <th>
              <Name of={left} />
            </th>
            <th>
              <Name of={right} />
            </th>
          </tr>
        </thead>
        <tbody>
          {fields.map((field) => (
            <tr key={field.path}>
              <th scope="row">
                <What path={field.path} />
              </th>
              <td>
                <Value path={field.path} value={field.left} />
              </td>
              <td>
                <Value path={field.path} value={field.right} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Name({ of }: { of: Schemas["DeploymentRef"] }) {
  return (
    <Link className="link" to="/d/$id/{-$tab}" params={{ id: of.id, tab: undefined }} search={{}}>
      {of.name}
    </Link>
  );
}

function What({ path }: { path: string }) {
  const { step, field } = splitField(path);
  if (!step) return <>{field}</>;
  return (
    <>
      <b>{step}</b> <span className="t2">› {field || t.whole}</span>
    </>
  );
}

function Value({ path, value }: { path: string; value: unknown }) {
  if (value === undefined || value === null) return <span className="t3">{t.absent}</span>;
  if (path === "status" && typeof value === "string") return <StatusMark state={value} />;
  return (
    <span className="mono whitespace-pre-wrap break-all">
      <BidiSafe text={typeof value === "string" ? value : JSON.stringify(value)} />
    </span>
  );
}
