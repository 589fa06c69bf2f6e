import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type NodeInfo } from "@/api/client";
import { Button } from "@/components/Button";
import { StatusMark, stateWord } from "@/components/Status";
import { useNow } from "@/components/Time";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { version } from "../fleet/queries";
import { ConfirmAct } from "./ConfirmAct";
import { needsUpgrade, type Stage, stageOf } from "./upgradeStage";

const t = machineTexts.upgrade;

/** Offered where agent and installation are of two releases; then how the replacement goes, and how it ended. */
export function Upgrade({ node }: { node: NodeInfo }) {
  const ours = useQuery(version).data?.build;
  const now = useNow(5);
  const [asked, setAsked] = useState<{ at: number; image?: string }>();
  const [asking, setAsking] = useState(false);
  if (!ours) return null;
  const stage = stageOf(node, ours, asked?.at, now);
  if (stage === "none") return null;
  // An agent does not change the Deployment that it is a pod of.
  const offered =
    (stage === "wanted" || stage === "back") &&
    needsUpgrade(node, ours) &&
    !node.inventory?.cluster;
  return (
    <section className="box mx-4 mt-1" data-st={looks[stage]} aria-label={t.title(node.name)}>
      <StatusMark state={looks[stage]}>
        <span className="vh">{stateWord(looks[stage])}</span>
      </StatusMark>
      <div className="grow col gap-2">
        <div role="status">
          <Says node={node} ours={ours} stage={stage} image={asked?.image} />
        </div>
        {offered ? (
          <div>
            <Button act={t.act} onClick={() => setAsking(true)}>
              {stage === "back" ? t.again : t.act}
            </Button>
          </div>
        ) : null}
      </div>
      {asking ? (
        <Asks
          name={node.name}
          ours={ours}
          close={() => setAsking(false)}
          begun={(image) => setAsked({ at: Date.now(), image })}
        />
      ) : null}
    </section>
  );
}

const looks: Record<Exclude<Stage, "none">, string> = {
  wanted: "warn",
  goes: "applying",
  done: "done",
  back: "failed",
};

type Said = { node: NodeInfo; ours: string; stage: Stage; image?: string };

function Says({ node, ours, stage, image }: Said) {
  if (stage === "done") return <p>{t.done(ours)}</p>;
  if (stage === "goes")
    return (
      <p>
        {t.goes(ours)} {image ? <span className="t2">{t.from(image)}</span> : null}
      </p>
    );
  return (
    <>
      {stage === "back" ? <p>{t.back}</p> : null}
      <p>{t.runs(node.build ?? t.unknown, ours)}</p>
      <p className="t2 max-w-[72ch]">
        {node.inventory?.cluster ? machineTexts.cluster.upgrade : t.elsewhere}
      </p>
    </>
  );
}

type AsksProps = {
  name: string;
  ours: string;
  close: () => void;
  begun: (image?: string) => void;
};

function Asks({ name, ours, close, begun }: AsksProps) {
  const cache = useQueryClient();
  const follow = (image?: string) => {
    begun(image);
    void cache.invalidateQueries({ queryKey: ["node", name] });
    close();
  };
  const upgrade = useMutation({
    mutationFn: () =>
      ask(client.POST("/api/v1/nodes/{name}/upgrade", { params: { path: { name } } })),
    onSuccess: ({ image }) => follow(image),
    // Pulling the image may take longer than the request timeout; the upgrade continues anyway.
    onError: (error) => error instanceof DOMException && follow(),
  });
  return (
    <ConfirmAct
      title={t.confirmTitle(name)}
      body={t.confirm(ours)}
      label={t.act}
      busy={t.asking}
      look="ink"
      act={upgrade}
      close={close}
    />
  );
}
