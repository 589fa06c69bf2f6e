import type { Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Time } from "@/components/Time";
import { inboxTexts as t } from "./inboxTexts";

/** The newest mails that it sent, as text. */
export function CapsuleMails({ mails }: { mails?: Schemas["MailList"] }) {
  if (!mails) return null;
  return (
    <section aria-label={t.title} className="flex flex-col gap-3">
      <h2>{t.title}</h2>
      {mails.items.map((one) => (
        <section key={one.number} className="card" aria-label={one.subject || t.noSubject}>
          <div className="row wrap">
            <b className="wrap-anywhere">
              <BidiSafe text={one.subject || t.noSubject} />
            </b>
            <span className="t2">
              <BidiSafe text={t.to(one.to.join(", "))} />
            </span>
            <Time at={one.at} className="t3 s" alone />
          </div>
          {one.text ? (
            <p className="whitespace-pre-wrap wrap-anywhere">
              <BidiSafe text={one.text} />
            </p>
          ) : null}
        </section>
      ))}
    </section>
  );
}
