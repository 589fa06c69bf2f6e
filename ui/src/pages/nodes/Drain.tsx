import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ask, client, type NodeInfo, type Schemas } from "@/api/client";
import { nodeDrain } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { describe } from "@/components/States";
import { Rail, StatusMark, stateWord } from "@/components/Status";
import { Time } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { exact } from "@/components/time";
import { texts } from "@/texts";

const t = texts.nodes;

/** How far the emptying of a node is, and what keeps it from being empty. */
export function DrainBox({ node, end }: { node: NodeInfo; end: () => void }) {
  const { data } = useQuery(nodeDrain(node.name));
  const drain = node.drain;
  if (!drain) return null;
  return (
    <section className="card mx-4 mt-1" data-st={drain.status} aria-label={t.drainOf(node.name)}>
      <Rail state={drain.status} />
      <h2 className="row">
        <StatusMark state={drain.status} />
        <span className="t2">{t.drainBy(drain.by)}</span>
        <Time at={drain.since} className="t3 s" />
      </h2>
      <p className="t2 max-w-[72ch]">{t.drainSays[drain.status]}</p>
      {drain.deadline ? (
        <p className="t2">
          {t.drainDeadline} <time dateTime={drain.deadline}>{exact(drain.deadline)}</time>
        </p>
      ) : null}
      <Staying drain={data} />
      <div>
        <Button onClick={end}>{t.undrain}</Button>
      </div>
    </section>
  );
}

/** What is on the node, and when it will be gone by itself. */
export function Staying({ drain }: { drain?: Schemas["NodeDrain"] }) {
  if (!drain) return null;
  if (drain.staying.length === 0) return <p>{t.nothingStays}</p>;
  return (
    <>
      <p>
        {t.stay(drain.staying.length)}{" "}
        {drain.ends_at ? t.emptyBy(exact(drain.ends_at)) : t.emptyNever}
      </p>
      <ul className="flex flex-col gap-1">
        {drain.staying.map((one) => (
          <li key={one.id} className="row flex-wrap">
            <StatusMark state={one.status}>
              <span className="vh">{stateWord(one.status)}</span>
            </StatusMark>
            <Link className="hover:underline" to="/d/$id/{-$tab}" params={{ id: one.id }}>
              <b>{one.name}</b>
            </Link>
            <span className="t2">
              {one.project}, {one.created_by}
            </span>
            <span className="t3">{one.ends_at ? t.endsAt(exact(one.ends_at)) : t.endsNever}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Asks before a drain begins: what is there, and until when. */
export function DrainAct({ node }: { node: NodeInfo }) {
  const [open, setOpen] = useState(false);
  const cache = useQueryClient();
  const say = useToast();
  const query = useQuery({ ...nodeDrain(node.name), enabled: open });
  const start = useMutation({
    mutationFn: () =>
      ask(
        client.POST("/api/v1/nodes/{name}/drain", {
          params: { path: { name: node.name } },
          body: {},
        }),
      ),
    onSuccess: (drain) => {
      say("done", t.asked.drain);
      cache.setQueryData(nodeDrain(node.name).queryKey, drain);
      void cache.invalidateQueries({ queryKey: ["node", node.name] });
      void cache.invalidateQueries({ queryKey: ["nodes"] });
    },
    onError: (error) => say("failed", texts.page.refused(describe(error).message)),
    onSettled: () => setOpen(false),
  });
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t.drain}</Button>
      <Confirm
        open={open}
        onClose={() => setOpen(false)}
        title={t.drainTitle(node.name)}
        acts={
          <>
            <Button onClick={() => setOpen(false)}>{texts.keep}</Button>
            <Button look="ink" busy={start.isPending && "…"} onClick={() => start.mutate()}>
              {t.drain}
            </Button>
          </>
        }
      >
        <p>{t.drainBody}</p>
        <Staying drain={query.data} />
      </Confirm>
    </>
  );
}
