import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { environments, projects } from "@/api/queries/catalog";
import { ErrorState, Skeletons } from "@/components/States";
import { environmentTexts } from "@/pages/environments/environmentTexts";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { Values } from "./Configured";
import { installation } from "./installation";

const t = settingsTexts.cleanup;

const cleanupText = (hours?: number) => (hours ? environmentTexts.cleanup(hours) : t.never);

/** Every rule by which deployments go by themselves, in one place. */
export function Cleanup() {
  const where = useQuery(environments);
  const what = useQuery(projects);
  const own = what.data?.filter((one) => one.cleanup_after_hours !== undefined);
  const failed = where.isError ? where : what.isError ? what : undefined;
  return (
    <>
      <div>
        <h2>{t.title}</h2>
        <p className="t2">
          {t.what} {t.activity}
        </p>
      </div>
      {failed ? (
        <ErrorState what={t.unread} error={failed.error} retry={() => void failed.refetch()} />
      ) : null}
      {where.isPending || what.isPending ? <Skeletons count={5} /> : null}
      {where.data ? (
        <Rules title={t.environment} rows={where.data} to="/environments" none={t.never} />
      ) : null}
      {own ? <Rules title={t.project} rows={own} to="/projects" none={t.none} /> : null}
      <p className="t2">{t.scratch}</p>
      <Kept />
    </>
  );
}

/** How long the records of what is gone are kept; that is set where the control plane is started. */
function Kept() {
  const { data } = useQuery(installation);
  if (!data) return null;
  return (
    <section className="col gap-2">
      <h3>{t.kept}</h3>
      <Values
        words
        all={[
          [t.removed, t.days(data.removed_days)],
          [t.audit, t.days(data.audit_days)],
        ]}
      />
      <p className="hint">{settingsTexts.configured.how}</p>
    </section>
  );
}

type Ruled = { name: string; cleanup_after_hours?: number; ignore_visits?: boolean };
type Props = { title: string; rows: Ruled[]; to: "/environments" | "/projects"; none: string };

function Rules({ title, rows, to, none }: Props) {
  return (
    <section className="col gap-2">
      <h3>{title}</h3>
      {rows.length === 0 ? <p className="t2">{none}</p> : null}
      {rows.length > 0 ? (
        <div className="tblf framed">
          <table className="tbl">
            <thead>
              <tr>
                <th>{t.columns.name}</th>
                <th>{t.columns.rule}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((one) => (
                <tr key={one.name}>
                  <td>
                    <Link className="hover:underline" to={to} search={{ open: one.name }}>
                      <b>{one.name}</b>
                    </Link>
                  </td>
                  <td className="t2">
                    {cleanupText(one.cleanup_after_hours)}
                    {one.cleanup_after_hours && one.ignore_visits ? `, ${t.visits}` : ""}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </section>
  );
}
