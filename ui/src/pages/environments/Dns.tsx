import { CopyButton } from "@/components/Copy";
import { environmentTexts as t } from "@/environmentTexts";

/** The one line that a name server needs, so that every host of the environment is found. */
export function Dns({ name, domain }: { name: string; domain: string }) {
  const local = domain === "localhost" || domain.endsWith(".localhost");
  if (local) return <p className="hint">{t.dnsLocal}</p>;
  const line = `*.${name || "qa"}.${domain || "lab.example.com"}. 300 IN A ${t.dnsAddress}`;
  return (
    <div className="field">
      <span className="lbl">{t.dns}</span>
      <div className="codebox">
        <pre>{line}</pre>
        <CopyButton text={line} what={t.dnsLine} />
      </div>
      <span className="hint">{t.dnsHint}</span>
    </div>
  );
}
