import { pluginTexts as t } from "@/catalogTexts";
import { CopyButton } from "@/components/Copy";
import { formFields, readSchema } from "./schema";

/** What people will fill in, read from the schema as it is typed. */
export function FormPreview({ text, digest }: { text: string; digest?: string }) {
  const { value, wrong } = readSchema(text);
  const fields = formFields(value);
  return (
    <section className="col gap-3" aria-live="polite">
      <h2>{t.preview}</h2>
      {wrong ? <p className="t2">{t.previewBroken}</p> : null}
      {!wrong && fields.length === 0 ? <p className="t2">{t.previewNone}</p> : null}
      {wrong ? null : (
        <ul className="col gap-3">
          {fields.map((field) => (
            <li key={field.name} className="col">
              <span className="row">
                <b>{field.title ?? field.name}</b>
                <span className="t2 s">
                  {[field.type, field.required ? t.requiredWord : ""].filter(Boolean).join(", ")}
                </span>
              </span>
              {field.title ? <span className="mono t2">{field.name}</span> : null}
              {field.description ? <span className="t2 s">{field.description}</span> : null}
              <span className="t2 s mono">
                {[
                  field.fallback === undefined ? "" : t.defaultIs(field.fallback),
                  field.choices ? t.oneOf(field.choices) : "",
                ]
                  .filter(Boolean)
                  .join(", ")}
              </span>
            </li>
          ))}
        </ul>
      )}
      {digest ? (
        <div className="field">
          <span className="lbl">{t.digest}</span>
          <div className="codebox">
            <pre>{digest}</pre>
            <CopyButton text={digest} what={t.digest} />
          </div>
        </div>
      ) : null}
      <p className="hint">{t.unchecked}</p>
    </section>
  );
}
