import { CommandLine } from "@/components/CommandLine";
import { environmentTexts as t } from "@/pages/environments/environmentTexts";

/** The one line that a name server needs, so that every host of the environment is found. */
export function DnsRecord({ name, domain }: { name: string; domain: string }) {
  const local = domain === "localhost" || domain.endsWith(".localhost");
  if (local) return <p className="hint">{t.dnsLocal}</p>;
  const line = `*.${name || "qa"}.${domain || "lab.example.com"}. 300 IN A ${t.dnsAddress}`;
  return <CommandLine label={t.dns} line={line} what={t.dnsLine} hint={t.dnsHint} />;
}
