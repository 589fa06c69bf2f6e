import { ask, client, type NodeInfo } from "@/api/client";
import type { Opened } from "@/forms/conflict";
import { ifMatch, type Tagged } from "@/forms/etag";
import { CheckField, TextArea, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { LoadStored } from "@/forms/LoadStored";
import { useForm } from "@/forms/useForm";
import { useSaved } from "@/forms/useSaved";
import { machineTexts as t } from "@/pages/nodes/machineTexts";
import { nodeBody, type SettingValues, settingProblems, settingValues } from "./nodeSettings";

type Props = { name: string; close: () => void };

/** Where the agent listens, and what an admin decides about the node. */
export function EditNode({ name, close }: Props) {
  const read = () => client.GET("/api/v1/nodes/{name}", { params: { path: { name } } });
  return (
    <LoadStored kind="nodes" name={name} read={read} close={close}>
      {(opened: Opened<NodeInfo>) => <Form opened={opened} close={close} />}
    </LoadStored>
  );
}

const save = (values: SettingValues, over?: Tagged<NodeInfo>) => {
  if (!over) throw new Error("a node is changed, never made, by this form");
  return ask(
    client.PUT("/api/v1/nodes/{name}", {
      params: { path: { name: over.value.name } },
      headers: ifMatch(over.tag),
      body: nodeBody(values, over.value),
    }),
  );
};

function Form({ opened, close }: { opened: Opened<NodeInfo>; close: () => void }) {
  const { name, settings } = opened.value;
  const cluster = Boolean(opened.value.inventory?.cluster);
  const saved = useSaved(["nodes", "node"], close);
  const form = useForm(settingValues(opened.value), {
    check: settingProblems,
    opened,
    valuesOf: settingValues,
    save,
    saved: (answer) => saved(name, answer),
  });
  const f = t.form;
  return (
    <FormSheet title={t.editTitle(name)} form={form} onClose={close}>
      <CheckField
        form={form}
        name="agent_connects"
        label={f.agentConnects}
        hint={f.agentConnectsHint}
      />
      {form.values.agent_connects ? null : (
        <TextField
          form={form}
          name="address"
          label={f.address}
          hint={f.addressHint}
          mono
          maxLength={500}
        />
      )}
      <TextArea form={form} name="labels" label={f.labels} hint={f.labelsHint} mono optional />
      <TextArea form={form} name="taints" label={f.taints} hint={f.taintsHint} mono optional />
      <TextField
        form={form}
        name="run_limit"
        type="number"
        label={f.runLimit}
        hint={f.runLimitHint}
        optional
      />
      {cluster && !settings?.disk_floor_mib ? null : (
        <TextField
          form={form}
          name="disk_floor_mib"
          type="number"
          label={f.diskFloor}
          hint={cluster ? t.cluster.diskFloorHint : f.diskFloorHint}
          optional
        />
      )}
      <TextField
        form={form}
        name="priority"
        type="number"
        label={f.priority}
        hint={f.priorityHint}
        optional
      />
      <CheckField form={form} name="require_vram_hint" label={f.vramHint} hint={f.vramHintHint} />
      <CheckField form={form} name="reactive" label={f.reactive} hint={f.reactiveHint} />
    </FormSheet>
  );
}
