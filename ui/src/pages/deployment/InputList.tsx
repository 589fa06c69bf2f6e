import type { Schemas } from "@/api/client";
import { inputTexts } from "@/forms/inputTexts";
import { DetailPair, Exact } from "./DetailPair";

/** What was set besides versions, defaults included. */
export function InputList({ input }: { input?: Schemas["Input"] }) {
  const values = Object.entries(input ?? {});
  if (values.length === 0) return null;
  return (
    <section aria-label={inputTexts.title} className="flex flex-col gap-2">
      <h2>{inputTexts.title}</h2>
      <dl className="kv">
        {values.map(([name, value]) => (
          <DetailPair key={name} name={name}>
            <Exact text={typeof value === "string" ? value : JSON.stringify(value)} what={name} />
          </DetailPair>
        ))}
      </dl>
    </section>
  );
}
