import { lazy, Suspense } from "react";
import { loadChunk } from "@/components/loadChunk";
import { Skeletons } from "@/components/States";
import { editorTexts } from "@/editor/editorTexts";
import { componentOf, nameOf, type PortType } from "../model/catalogue";
import type { Step } from "../model/document";
import { formatExpression } from "../model/expressions";
import { referenceOptions } from "../model/referenceOptions";
import { insertReference } from "../model/references";
import { Shell } from "./fields";
import type { InspectorPartProps } from "./inspectorProps";
import { TextInput } from "./TextInput";

const PluginForm = lazy(() => loadChunk(() => import("./PluginForm")));
const t = editorTexts.step;

export function PluginSettings(props: InspectorPartProps & { step: Step }) {
  const { step, catalogue, problems, onChange, doc } = props;
  const component = componentOf(step, catalogue);
  if (!component) return <p className="t3">{t.noComponent(nameOf(step))}</p>;
  const offersFor = (type: PortType, path: string) =>
    referenceOptions(doc, catalogue, step, type, path);
  return (
    <>
      {component.description ? <p className="t2 s">{component.description}</p> : null}
      {(component.secrets ?? []).map((secret) => {
        const path = `plugin.secrets.${secret.name}`;
        const value = step.plugin?.secrets?.[secret.name] ?? "";
        return (
          <Shell
            key={secret.name}
            label={secret.name}
            path={path}
            type="secret"
            hint={secret.description ?? t.secretShown}
            required={secret.required}
            problems={problems}
            offers={() => offersFor("secret", path)}
            onRefer={(chosen, at) => onChange(path, insertReference(value, chosen, at))}
          >
            {(id, described, wrong) => (
              <TextInput
                id={id}
                described={described}
                wrong={wrong}
                label={secret.name}
                mono
                placeholder={formatExpression({ scope: "secrets", name: "NAME" })}
                value={value}
                onChange={(text) => onChange(path, text)}
              />
            )}
          </Shell>
        );
      })}
      <Suspense fallback={<Skeletons count={3} height={52} />}>
        <PluginForm
          schema={component.parameters as Record<string, unknown> | undefined}
          values={(step.plugin?.parameters ?? {}) as Record<string, unknown>}
          problems={problems}
          offersFor={offersFor}
          onChange={onChange}
          unread={{ of: props.unread, step: step.key }}
        />
      </Suspense>
      <p className="und">{component.actions?.includes("delete") ? t.canUndo : t.noUndo}</p>
    </>
  );
}
