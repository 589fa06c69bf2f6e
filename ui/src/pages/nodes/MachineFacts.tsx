import type { NodeInfo, Schemas } from "@/api/client";
import { formatBytes, formatNumber } from "@/components/quantity";
import { StatusMark, stateWord } from "@/components/Status";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { ClusterFacts } from "./ClusterFacts";
import { cpuLimit } from "./cpuLimit";
import { labelLines, taintLine } from "./nodeSettings";

const t = nodeTexts;
const s = machineTexts;
const MIB = 1024 * 1024;

type Inventory = Schemas["Inventory"];

/** What the machine has, what of it is promised, and what an admin decided about it. */
export function MachineFacts({ node }: { node: NodeInfo }) {
  const { inventory } = node;
  return (
    <section>
      <h2 className="mb-1">{inventory?.cluster ? s.cluster.title : t.machine}</h2>
      {inventory ? null : <p className="t3">{t.notKnown}</p>}
      <dl className="kv">
        {inventory ? <Has node={node} inventory={inventory} /> : null}
        <Decided settings={node.settings ?? {}} cluster={Boolean(inventory?.cluster)} />
        {inventory?.warnings?.map((warning) => (
          <Warning key={warning}>{warning}</Warning>
        ))}
      </dl>
    </section>
  );
}

function Has({ node, inventory }: { node: NodeInfo; inventory: Inventory }) {
  const { vitals, allocated } = node;
  return (
    <>
      {inventory.cluster ? (
        <ClusterFacts node={node.name} inventory={inventory} cluster={inventory.cluster} />
      ) : (
        <>
          <dt>{t.system}</dt>
          <dd>
            {inventory.os}, {inventory.kernel}, {inventory.arch}
          </dd>
          <dt>{t.engine}</dt>
          <dd>
            <Engine inventory={inventory} />
          </dd>
        </>
      )}
      <dt>{t.processor}</dt>
      <dd>{t.cores(inventory.cpu)}</dd>
      <dt>{t.memory}</dt>
      <dd>
        {vitals
          ? t.memoryUse(formatBytes(vitals.memory_used), formatBytes(inventory.memory))
          : formatBytes(inventory.memory)}
      </dd>
      <dt>{t.disk}</dt>
      <dd>
        {vitals
          ? t.diskFree(formatBytes(vitals.disk_free), formatBytes(inventory.disk))
          : formatBytes(inventory.disk)}
        {inventory.disks?.map((disk) => (
          <div className="t2 s" key={disk.path}>
            {t.diskOf(formatBytes(disk.size), disk.holds, disk.path)}
          </div>
        ))}
      </dd>
      {inventory.gpus?.map((gpu) => (
        <Gpu key={gpu.id} gpu={gpu} />
      ))}
      <dt>{t.allocated}</dt>
      <dd>
        {t.allocatedTo(
          t.cpuOf(
            formatNumber(allocated.cpu ?? 0),
            formatNumber(cpuLimit(node)),
            node.cpu_overcommit ?? 1,
          ),
          formatBytes((allocated.memory_mib ?? 0) * MIB),
          node.deployments,
        )}
      </dd>
    </>
  );
}

function Engine({ inventory }: { inventory: Inventory }) {
  const { runc_version: runc, storage_driver: storage, cgroup_version: cgroup } = inventory;
  return (
    <>
      {inventory.engine_version}, {t.api(inventory.api_version)}
      {runc ? (
        <span className="t2">
          {", "}
          {t.engineMore(runc, storage ?? "", cgroup ?? "")}
        </span>
      ) : null}
    </>
  );
}

/** Labels and taints always show, so that their absence is visible too. */
function Decided({ settings, cluster }: { settings: Schemas["NodeSettings"]; cluster: boolean }) {
  const { run_limit: runs, disk_floor_mib: floor, priority, reactive } = settings;
  return (
    <>
      <dt>{s.form.labels}</dt>
      <dd>
        <Chips all={labelLines(settings.labels)} />
      </dd>
      <dt>{s.form.taints}</dt>
      <dd>
        <Chips all={(settings.taints ?? []).map(taintLine)} />
      </dd>
      <dt>{s.form.runLimit}</dt>
      <dd>{runs ? s.settings.runLimit(runs) : s.settings.noLimit}</dd>
      {floor && !cluster ? (
        <>
          <dt>{s.settings.diskFloor}</dt>
          <dd>{formatBytes(floor * MIB)}</dd>
        </>
      ) : null}
      {priority ? (
        <>
          <dt>{s.form.priority}</dt>
          <dd>{priority}</dd>
        </>
      ) : null}
      {settings.require_vram_hint ? (
        <>
          <dt>{s.form.vramHint}</dt>
          <dd>{s.settings.vramHint}</dd>
        </>
      ) : null}
      {reactive ? (
        <>
          <dt>{s.form.reactive}</dt>
          <dd>{s.settings.reactive}</dd>
        </>
      ) : null}
    </>
  );
}

function Chips({ all }: { all: string[] }) {
  if (all.length === 0) return <span className="t3">{s.settings.none}</span>;
  return (
    <span className="row flex-wrap gap-1">
      {all.map((one) => (
        <span key={one} className="chip" title={one}>
          <span className="mono">{one}</span>
        </span>
      ))}
    </span>
  );
}

function Gpu({ gpu }: { gpu: Schemas["NodeGPU"] }) {
  return (
    <>
      <dt>
        {t.gpu} {gpu.id}
      </dt>
      <dd>{t.gpuOf(gpu.model, formatBytes(gpu.memory))}</dd>
    </>
  );
}

function Warning({ children }: { children: string }) {
  return (
    <>
      <dt>{t.warnings}</dt>
      <dd className="row">
        <StatusMark state="warn">
          <span className="vh">{stateWord("warn")}</span>
        </StatusMark>
        {children}
      </dd>
    </>
  );
}
