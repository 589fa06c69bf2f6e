import "@/editor/editor.css";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { source } from "@/api/queries/sources";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { shortCommit } from "@/components/commit";
import { Refusal } from "@/components/Field";
import { describeError, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { ChangeList } from "@/editor/compare/ChangeList";
import { sourceTexts as t } from "./sourceTexts";
import { looks, standingOf, toStepChanges } from "./state";

type Source = Schemas["DefinitionSource"];

/** How a source stands: what it would change, what drifted, what is wrong, and what can be done. */
export function SourceState({ name }: { name: string }) {
  const query = useQuery(source(name));
  return (
    <section className="col gap-2" aria-busy={query.isPending}>
      <h2>{t.state}</h2>
      {query.isPending ? <Skeletons count={4} /> : null}
      {query.isError ? (
        <ErrorState what={t.stateUnread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data ? <Found one={query.data} /> : null}
    </section>
  );
}

export function StandingMark({ one }: { one: Source }) {
  const standing = standingOf(one);
  return <StatusMark state={looks[standing]}>{t.statuses[standing]}</StatusMark>;
}

function Found({ one }: { one: Source }) {
  const waits = one.status === "waiting" ? one.found : undefined;
  return (
    <>
      <StandingMark one={one} />
      {one.failure ? <Failure failure={one.failure} /> : null}
      {one.found ? <Commit word={t.found} commit={one.found} /> : null}
      {one.applied ? (
        <Commit word={t.applied} commit={one.applied} at={one.applied_at} by={one.applied_by} />
      ) : null}
      <p className="t2 s">{t.owner(one.owner)}</p>
      <Acts one={one} />
      {waits ? (
        <>
          <h3>{t.changes}</h3>
          {one.changes.length === 0 ? <p className="t2 s">{t.nothing}</p> : null}
          <ChangeList changes={one.changes.flatMap(toStepChanges)} />
        </>
      ) : null}
      <Drift one={one} />
      <Unlisted one={one} />
    </>
  );
}

function Commit({
  word,
  commit,
  at,
  by,
}: {
  word: string;
  commit: Schemas["DefinitionSourceCommit"];
  at?: string;
  by?: string;
}) {
  return (
    <div className="col">
      <span>
        {word} <span className="mono">{shortCommit(commit.hash)}</span>{" "}
        <BidiSafe text={commit.subject ?? ""} />
      </span>
      <span className="t2 s">
        <BidiSafe text={commit.author ?? ""} /> · <Time at={at ?? commit.at} />
        {by ? <> · {t.by(by)}</> : null}
      </span>
    </div>
  );
}

function Failure({ failure }: { failure: Schemas["DefinitionSourceFailure"] }) {
  return (
    <div className="col gap-1">
      <p>
        <BidiSafe text={failure.message} /> <BidiSafe text={failure.remedy ?? ""} />
      </p>
      <ul className="col gap-1">
        {failure.problems.map((one) => (
          <li key={`${one.file} ${one.line} ${one.field} ${one.message}`} className="s">
            {one.file ? (
              <span className="mono">
                <BidiSafe text={t.problem(one.file, one.line)} />{" "}
              </span>
            ) : null}
            <span className="t2">
              <BidiSafe text={[one.what, one.step, one.field].filter(Boolean).join(", ")} />
            </span>{" "}
            <BidiSafe text={`${one.message} ${one.remedy ?? ""}`} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Look now, apply what was found, or apply again. */
function Acts({ one }: { one: Source }) {
  const cache = useQueryClient();
  const path = { params: { path: { name: one.name } } };
  const onSuccess = (read: Source) => {
    cache.setQueryData(source(one.name).queryKey, read);
    void cache.invalidateQueries();
  };
  const sync = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/sources/{name}/sync", path)),
    onSuccess,
  });
  const apply = useMutation({
    mutationFn: (commit: string) =>
      ask(client.POST("/api/v1/sources/{name}/apply", { ...path, body: { commit } })),
    onSuccess,
    onError: () => void cache.invalidateQueries({ queryKey: ["sources"] }),
  });
  const error = apply.error ?? sync.error;
  const found = one.status === "waiting" ? one.found : undefined;
  const drifted = one.drift.length > 0 ? one.applied : undefined;
  return (
    <>
      <div className="row">
        {found ? (
          <Button
            type="button"
            look="ink"
            busy={apply.isPending && t.applying}
            onClick={() => apply.mutate(found.hash)}
          >
            {t.apply(shortCommit(found.hash))}
          </Button>
        ) : null}
        {drifted ? (
          <Button
            type="button"
            busy={apply.isPending && t.applying}
            onClick={() => apply.mutate(drifted.hash)}
          >
            {t.applyAgain}
          </Button>
        ) : null}
        <Button type="button" busy={sync.isPending && t.syncing} onClick={() => sync.mutate()}>
          {t.sync}
        </Button>
      </div>
      {error ? <Refusal>{describeError(error).message}</Refusal> : null}
    </>
  );
}

function Drift({ one }: { one: Source }) {
  if (one.drift.length === 0) return null;
  return (
    <>
      <h3>{t.drift}</h3>
      <p className="t2 s">{t.driftHint}</p>
      {one.drift.map((change) => {
        const command = `nullops export ${change.kind}/${change.name}`;
        return (
          <div key={`${change.kind} ${change.name} ${change.part}`} className="col">
            <ChangeList changes={toStepChanges(change)} />
            {change.changed_by && change.changed_at ? (
              <span className="t2 s">
                {t.changed(change.changed_by)} · <Time at={change.changed_at} />
              </span>
            ) : null}
            {change.part ? null : (
              <div className="codebox">
                <pre>{command}</pre>
                <CopyButton text={command} what={t.keep} />
              </div>
            )}
          </div>
        );
      })}
    </>
  );
}

function Unlisted({ one }: { one: Source }) {
  if (one.unlisted.length === 0) return null;
  return (
    <>
      <h3>{t.unlisted}</h3>
      <p className="t2 s">{one.removes ? t.unlistedUsed : t.unlistedHint}</p>
      <ul>
        {one.unlisted.map(({ kind, name }) => (
          <li key={`${kind} ${name}`}>{`${kind} ${name}`}</li>
        ))}
      </ul>
    </>
  );
}
