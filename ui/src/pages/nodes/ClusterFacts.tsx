import type { Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { formatBytes } from "@/components/quantity";
import { StatusMark } from "@/components/Status";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { GiveUpMachine } from "./GiveUpMachine";

const t = machineTexts.cluster;

type Inventory = Schemas["Inventory"];
type Cluster = Schemas["NodeCluster"];
type Machine = Schemas["ClusterMachine"];

/** What deployments run on: Docker 28.5.1, or Kubernetes 1.34.3. */
export function engineName(inventory: Inventory | undefined): string {
  if (!inventory) return "";
  if (inventory.cluster) return `Kubernetes ${inventory.cluster.version.replace(/^v/, "")}`;
  return `Docker ${inventory.engine_version}`;
}

const states: Record<Machine["state"], string> = {
  ready: "ready",
  cordoned: "warn",
  not_ready: "failed",
};

type Props = { node: string; inventory: Inventory; cluster: Cluster };

/** What a node is that is a cluster, in the cluster's own terms. */
export function ClusterFacts({ node, inventory, cluster }: Props) {
  const more = cluster.machine_count - cluster.machines.length;
  return (
    <>
      <dt>{machineTexts.list.runsOn}</dt>
      <dd>
        {engineName(inventory)}
        <span className="t2">{`, ${inventory.hostname}, ${inventory.arch}`}</span>
      </dd>
      <dt>{t.machines}</dt>
      <dd>
        {cluster.machines.map((machine) => (
          <MachineLine key={machine.name} node={node} machine={machine} />
        ))}
        {more > 0 ? <div className="t2 s">{t.more(more)}</div> : null}
      </dd>
      <dt>{t.network}</dt>
      <dd>{cluster.network ?? <span className="t3">{t.unknownNetwork}</span>}</dd>
      <dt>{t.storage}</dt>
      <dd>
        {cluster.storage_classes.length === 0 ? <span className="t3">{t.noStorage}</span> : null}
        {cluster.storage_classes.map((one) => (
          <div key={one.name}>
            <span className="mono">{one.name}</span>
            <span className="t2 s">
              {`, ${one.provisioner}${one.default ? `, ${t.isDefault}` : ""}`}
            </span>
          </div>
        ))}
      </dd>
      <dt>{t.without}</dt>
      <dd className="t2">{t.withoutWhat}</dd>
    </>
  );
}

function MachineLine({ node, machine }: { node: string; machine: Machine }) {
  return (
    <div className="row flex-wrap gap-x-2 gap-y-0 py-0.5">
      <StatusMark state={states[machine.state]} small>
        {t.states[machine.state]}
      </StatusMark>
      <b>{machine.name}</b>
      <span className="t2 s">
        {t.machine(
          machine.version.replace(/^v/, ""),
          nodeTexts.cores(machine.cpu),
          formatBytes(machine.memory),
        )}
      </span>
      {machine.detail ? (
        <span className="t2 s basis-full">
          <BidiSafe text={machine.detail} />
        </span>
      ) : null}
      {machine.state === "not_ready" ? <GiveUpMachine node={node} machine={machine.name} /> : null}
    </div>
  );
}
