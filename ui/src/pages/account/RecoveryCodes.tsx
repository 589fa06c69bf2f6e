import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { factorTexts as t } from "./factorTexts";

/** Codes that are shown once; they stay until the person says that they are kept. */
export function RecoveryCodes({ codes, kept }: { codes: string[]; kept: () => void }) {
  return (
    <div className="box" data-st="warn" role="status">
      <div className="col gap-2">
        <b>{t.codesTitle}</b>
        <span>{t.codes}</span>
        <ul className="mono s" data-secret>
          {codes.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
        <span className="row">
          <Button look="ink" onClick={kept}>
            {t.codesKept}
          </Button>
          <CopyButton text={codes.join("\n")} what={t.codesCopied} />
        </span>
      </div>
    </div>
  );
}
