import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { ask, client } from "@/api/client";
import { me } from "@/api/queries/common";
import { CopyButton } from "@/components/Copy";
import { ErrorState, Skeletons } from "@/components/States";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { texts } from "@/texts";
import { Support } from "./Support";

const t = settingsTexts.about;

/** What runs here; needed for every bug report. */
export function About() {
  const { data: person } = useSuspenseQuery(me);
  const query = useQuery({
    queryKey: ["version"],
    queryFn: () => ask(client.GET("/api/v1/version")),
  });
  return (
    <>
      <h2>{t.title}</h2>
      {query.isPending ? <Skeletons count={3} /> : null}
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data ? (
        <dl className="kv">
          {Object.entries(query.data).map(([name, value]) => (
            <Known
              key={name}
              name={t.known[name] ?? name.replaceAll("_", " ")}
              value={String(value)}
            />
          ))}
          <dt>{t.you}</dt>
          <dd>
            {person.display_name || person.name}, {texts.roles[person.role]}
          </dd>
        </dl>
      ) : null}
      {person.role === "admin" ? <Support /> : null}
    </>
  );
}

function Known({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="row">
        <span className="mono">{value}</span>
        <CopyButton text={value} what={name} />
      </dd>
    </>
  );
}
