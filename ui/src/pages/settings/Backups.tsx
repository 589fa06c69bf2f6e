import { Link } from "@tanstack/react-router";
import { CopyButton } from "@/components/Copy";
import { settingsTexts } from "@/settingsTexts";

const t = settingsTexts.backups;

/** How a backup is made and put back; it is an act of the machine, not of this page. */
export function Backups() {
  return (
    <>
      <div>
        <h2>{t.title}</h2>
        <p className="t2">{t.what}</p>
      </div>
      <Line label={t.write} line={t.writeLine} />
      <Line label={t.restore} line={t.restoreLine} />
      <p className="t2">{t.key}</p>
      <p className="t2">{t.after}</p>
      <p>
        <Link className="link" to="/audit" search={{ who: "system:backup" }}>
          {t.last}
        </Link>
      </p>
    </>
  );
}

function Line({ label, line }: { label: string; line: string }) {
  return (
    <div className="field">
      <span className="lbl">{label}</span>
      <div className="codebox">
        <pre>{line}</pre>
        <CopyButton text={line} what={settingsTexts.copy} />
      </div>
    </div>
  );
}
