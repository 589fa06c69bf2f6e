import { Check, Copy as Icon } from "lucide-react";
import { useState } from "react";
import { texts } from "@/texts";

/** Copies a text. On plain HTTP browsers withhold the clipboard, so a hidden field helps out. */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // Refused by the browser: the older way below may still work.
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "vh";
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  return copied;
}

export function CopyButton({
  text,
  what,
  className,
}: {
  text: string;
  what: string;
  className?: string;
}) {
  const [copied, setCopied] = useState(false);
  const label = copied ? texts.copied(what) : texts.copy(what);
  return (
    <button
      type="button"
      className={`btn ghost sm ic ${className ?? ""}`}
      aria-label={label}
      title={label}
      onClick={async () => {
        setCopied(await copyText(text));
        setTimeout(() => setCopied(false), 2000);
      }}
    >
      {copied ? (
        <Check className="i sm" aria-hidden="true" />
      ) : (
        <Icon className="i sm" aria-hidden="true" />
      )}
    </button>
  );
}
