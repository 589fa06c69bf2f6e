import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { TagPicker } from "@/components/TagPicker";
import { useFieldLabel } from "@/forms/Fields";
import type { Form } from "@/forms/useForm";
import { templateTexts as t } from "@/pages/templates/templateTexts";
import type { Values } from "./values";

type Props = { form: Form<Values>; services: Schemas["ProjectService"][] };

const inWords = (value: unknown) =>
  Object.entries(value as Values["versions"])
    .map(([step, tag]) => `${step}: ${tag}`)
    .join("\n");

/** Which version each service begins with; one that is not chosen has its default. */
export function VersionFields({ form, services }: Props) {
  useFieldLabel(form, "versions", t.versions, inWords);
  const { versions } = form.values;
  const known = new Set(services.map((one) => one.step));
  const gone = Object.keys(versions).filter((step) => !known.has(step));
  const set = (step: string, tag: string) => {
    const { [step]: _, ...rest } = versions;
    form.set({ versions: tag ? { ...rest, [step]: tag } : rest });
  };
  return (
    <fieldset className="field">
      <legend className="lbl">{t.versions}</legend>
      <div className="svs">
        {services.map(({ step, service }) => (
          <div key={step} className="sv">
            <span className="tr">{step}</span>
            <span className="row">
              <TagPicker
                service={service}
                step={step}
                value={versions[step] ?? ""}
                onChange={(tag) => set(step, tag)}
              />
              {versions[step] ? (
                <Button
                  small
                  look="ghost"
                  aria-label={t.asDefaultOf(step)}
                  onClick={() => set(step, "")}
                >
                  {t.asDefault}
                </Button>
              ) : null}
            </span>
          </div>
        ))}
      </div>
      {form.errors.versions ? <Refusal>{form.errors.versions}</Refusal> : null}
      <p className="hint">{services.length > 0 ? t.versionsHint : t.noVersions}</p>
      {gone.length > 0 ? <p className="hint">{t.gone(gone)}</p> : null}
    </fieldset>
  );
}
