import { lazy, Suspense } from "react";
import { CopyButton } from "@/components/Copy";
import { loadChunk } from "@/components/loadChunk";
import { Skeletons } from "@/components/States";
import { pluginTexts as t } from "@/pages/catalogTexts";
import { fieldNames, readSchema } from "./schema";

const DraftForm = lazy(() => loadChunk(() => import("./DraftForm")));

/** What people will fill in, made of the schema as it is typed. */
export function FormPreview({ text, digest }: { text: string; digest?: string }) {
  const { value, wrong } = readSchema(text);
  const count = fieldNames(value).length;
  return (
    <section className="col gap-3" aria-label={t.preview}>
      <h2>{t.preview}</h2>
      <div role="status">
        {wrong ? <p className="t2">{t.previewBroken}</p> : null}
        {!wrong && count === 0 ? <p className="t2">{t.previewNone}</p> : null}
      </div>
      {value && !wrong && count > 0 ? (
        <Suspense fallback={<Skeletons count={count} height={52} />}>
          {/* What was tried is not of another schema's form. */}
          <DraftForm key={text} schema={value} />
        </Suspense>
      ) : null}
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
