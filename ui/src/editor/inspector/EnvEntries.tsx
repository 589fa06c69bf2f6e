import { Plus } from "lucide-react";
import { useRef, useState } from "react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import { containerOf, containerPath } from "../model/document";
import { referenceOptions } from "../model/referenceOptions";
import { insertReference } from "../model/references";
import { Shell } from "./fields";
import { Group, RemoveButton, type StepFormProps } from "./records";
import { TextInput } from "./TextInput";

const t = editorTexts.step;

export function Env({ step, doc, catalogue, problems, onChange }: StepFormProps) {
  const [name, setName] = useState("");
  const wrong = name !== "" && name.includes("=");
  const at = `${containerPath(step)}.env`;
  const env = containerOf(step)?.env ?? {};
  const field = useRef<HTMLInputElement>(null);
  const add = () => {
    if (!name) field.current?.focus();
    if (!name || wrong) return;
    onChange(`${at}.${name}`, env[name] ?? "");
    setName("");
  };
  return (
    <Group title={t.env}>
      {Object.entries(env).map(([key, value]) => {
        const path = `${at}.${key}`;
        return (
          <div key={key} className="row top0">
            <div className="grow">
              <Shell
                label={key}
                path={path}
                problems={problems}
                offers={() => referenceOptions(doc, catalogue, step, "any", path)}
                onRefer={(ref, at) => onChange(path, insertReference(value, ref, at))}
              >
                {(id, described, bad) => (
                  <TextInput
                    id={id}
                    described={described}
                    wrong={bad}
                    label={key}
                    mono
                    value={value}
                    onChange={(next) => onChange(path, next ?? "")}
                  />
                )}
              </Shell>
            </div>
            <RemoveButton what={key} onRemove={() => onChange(path, undefined)} />
          </div>
        );
      })}
      <div className="f" data-field={at}>
        <div className="row">
          <div className={`in grow ${wrong ? "err" : ""}`}>
            <input
              ref={field}
              className="mono"
              aria-label={t.envName}
              placeholder={t.envName}
              value={name}
              spellCheck={false}
              onChange={(event) => setName(event.target.value)}
              onKeyDown={(event) => event.key === "Enter" && add()}
            />
          </div>
          <Button small onClick={add} reason={wrong ? t.envNameWrong : undefined}>
            <Plus className="i sm" aria-hidden="true" /> {t.addEnv}
          </Button>
        </div>
      </div>
    </Group>
  );
}
