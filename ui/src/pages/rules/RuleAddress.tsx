import { CopyButton } from "@/components/Copy";
import { ruleTexts as t } from "@/pages/rules/ruleTexts";

/** Where the source of a rule posts its events, and what to set there. */
export function RuleAddress({ name, hint }: { name: string; hint: string }) {
  const url = `${window.location.origin}/hooks/${name}`;
  return (
    <div className="field">
      <span className="lbl">{t.address}</span>
      <div className="codebox">
        <pre>{url}</pre>
        <CopyButton text={url} what={t.address} />
      </div>
      <span className="hint">{hint}</span>
    </div>
  );
}
