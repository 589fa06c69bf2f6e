import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { keys } from "@/api/queries/admin";
import { Button } from "@/components/Button";
import { formatCount } from "@/components/quantity";
import { describeError, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { useToast } from "@/components/Toast";
import { settingsTexts } from "@/pages/settings/settingsTexts";

const t = settingsTexts.keys;
type Key = Schemas["MasterKey"];

/** Master keys: which seals, which only opens, and what still lies under each. */
export function Keys() {
  const query = useQuery(keys);
  return (
    <>
      <div>
        <h2>{t.title}</h2>
        <p className="t2">{t.what}</p>
      </div>
      {query.isPending ? <Skeletons count={3} /> : null}
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data ? <Table all={query.data} /> : null}
      {query.data ? <Rotate all={query.data} /> : null}
      <p className="hint">{t.how}</p>
    </>
  );
}

function Table({ all }: { all: Key[] }) {
  return (
    <div className="tblf framed">
      <table className="tbl">
        <thead>
          <tr>
            <th>{t.columns.name}</th>
            <th className="wide">{t.columns.source}</th>
            <th>{t.columns.state}</th>
            <th className="num">{t.columns.values}</th>
            <th className="wide">{t.columns.uses}</th>
          </tr>
        </thead>
        <tbody>
          {all.map((key) => (
            <tr key={key.name}>
              <td className="mono">{key.name}</td>
              <td className="wide t2">{key.source}</td>
              <td>
                <State of={key} />
              </td>
              <td className="num">{formatCount(key.values)}</td>
              <td className="wide t2 s">
                {key.uses
                  .filter((use) => use.values > 0)
                  .map(
                    (use) => `${t.places[use.place] ?? use.place}\u00a0${formatCount(use.values)}`,
                  )
                  .join(", ")}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function State({ of }: { of: Key }) {
  if (!of.present)
    return (
      <StatusMark state={of.values > 0 ? "failed" : "stopped"}>
        {t.missing}
        {of.values > 0 ? `. ${t.lost}` : ""}
      </StatusMark>
    );
  if (of.primary) return <StatusMark state="done">{t.primary}</StatusMark>;
  return <span className="t2">{of.values === 0 ? t.removable : t.present}</span>;
}

/** Goes on until nothing is left; closing the page stops it, and nothing is lost. */
function Rotate({ all }: { all: Key[] }) {
  const cache = useQueryClient();
  const say = useToast();
  const [left, setLeft] = useState<number>();
  const old = all.some((key) => key.present && !key.primary && key.values > 0);
  const rotate = useMutation({
    mutationFn: async () => {
      let count = 0;
      for (;;) {
        const step = await ask(client.POST("/api/v1/keys/rotate"));
        count += step.rotated;
        setLeft(step.left);
        if (step.left === 0 || step.rotated === 0) return count;
      }
    },
    onSuccess: (count) => say("done", t.rotated(count)),
    onError: (error) => say("failed", describeError(error).message),
    onSettled: () => {
      setLeft(undefined);
      void cache.invalidateQueries({ queryKey: keys.queryKey });
    },
  });
  if (!old && !rotate.isPending) return <p className="t2">{t.whole}</p>;
  return (
    <div>
      <Button
        act={t.rotate}
        busy={rotate.isPending && (left === undefined ? t.start : t.rotating(left))}
        onClick={() => rotate.mutate()}
      >
        {t.rotate}
      </Button>
    </div>
  );
}
