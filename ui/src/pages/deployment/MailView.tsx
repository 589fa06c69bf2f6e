import { useMutation, useQuery } from "@tanstack/react-query";
import { ArrowLeft, Download } from "lucide-react";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { downloadFile } from "@/api/file";
import { mail } from "@/api/queries/mails";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { Refusal } from "@/components/Field";
import { formatBytes } from "@/components/quantity";
import { describeError, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { DetailPair } from "./DetailPair";
import { inboxTexts as t } from "./inboxTexts";
import { ReadFailed } from "./ReadFailed";

type Mail = Schemas["CaughtMail"];
type View = keyof typeof t.view;

/** One mail: who sent it to whom, and its page, its text or its header. */
export function MailView({ id, number, close }: { id: string; number: number; close: () => void }) {
  const query = useQuery(mail(id, number));
  const one = query.data;
  return (
    <>
      <Button small look="ghost" className="inbox-back" onClick={close}>
        <ArrowLeft className="i sm" aria-hidden="true" /> {t.back}
      </Button>
      <ReadFailed what={t.mailUnread} query={query} />
      {query.isPending ? <Skeletons count={6} /> : null}
      {one ? <Shown id={id} one={one} /> : null}
    </>
  );
}

function Shown({ id, one }: { id: string; one: Mail }) {
  const [view, setView] = useState<View>(one.html ? "page" : "text");
  const address = `/api/v1/deployments/${id}/mails/${one.number}`;
  const views: View[] = one.html
    ? ["page", "text", "links", "header", "source"]
    : ["text", "links", "header"];
  return (
    <article className="mail" aria-label={one.subject || t.noSubject}>
      <h2 className="wrap-anywhere">
        <BidiSafe text={one.subject || t.noSubject} />
      </h2>
      <dl className="kv">
        <DetailPair name={t.from}>
          <BidiSafe text={one.sender || one.from} />
        </DetailPair>
        <DetailPair name={t.recipients}>
          <BidiSafe text={one.recipients || one.to.join(", ")} />
        </DetailPair>
        <DetailPair name={t.sentTo}>
          <BidiSafe text={one.to.join(", ")} />
        </DetailPair>
        <DetailPair name={t.at}>
          <Time at={one.at} alone /> <span className="t3">{formatBytes(one.bytes)}</span>
        </DetailPair>
      </dl>
      {one.problems.map((problem) => (
        <p key={problem} className="notice t2">
          {problem}
        </p>
      ))}
      <Files address={address} one={one} />
      <div className="tabs" role="group" aria-label={t.views}>
        {views.map((name) => (
          <button
            key={name}
            type="button"
            className="tab"
            aria-pressed={view === name}
            aria-current={view === name ? "true" : undefined}
            onClick={() => setView(name)}
          >
            {t.view[name]}
          </button>
        ))}
      </div>
      {view === "page" ? <Page address={address} subject={one.subject} /> : null}
      {view === "text" ? <Plain text={one.text} /> : null}
      {view === "source" ? <Plain text={one.html} /> : null}
      {view === "links" ? <Links links={one.links} /> : null}
      {view === "header" ? <Header one={one} /> : null}
    </article>
  );
}

/**
 * The HTML of the mail, which is hostile: the frame has no scripts, no origin and no forms, and the
 * server's answer says the same once more, and that nothing is loaded.
 */
function Page({ address, subject }: { address: string; subject: string }) {
  return (
    <>
      <iframe
        className="mail-page"
        title={t.frame(subject || t.noSubject)}
        src={`${address}/page`}
        sandbox="allow-popups allow-popups-to-escape-sandbox"
        referrerPolicy="no-referrer"
      />
      <p className="t3 s">{t.safe}</p>
    </>
  );
}

function Plain({ text }: { text: string }) {
  if (!text) return <p className="t2">{t.noText}</p>;
  return (
    <pre className="mail-text">
      <BidiSafe text={text} />
    </pre>
  );
}

/** As text: a person decides where to go, and copies it. */
function Links({ links }: { links: string[] }) {
  if (links.length === 0) return <p className="t2">{t.noLinks}</p>;
  return (
    <ul className="flex flex-col gap-1">
      {links.map((link) => (
        <li key={link} className="row">
          <span className="mono s wrap-anywhere">
            <BidiSafe text={link} />
          </span>
          <CopyButton text={link} what={link} />
        </li>
      ))}
    </ul>
  );
}

function Header({ one }: { one: Mail }) {
  return (
    <dl className="kv">
      {one.header.map(({ name, value }, at) => (
        <DetailPair key={at} name={name}>
          <span className="mono s wrap-anywhere">
            <BidiSafe text={value} />
          </span>
        </DetailPair>
      ))}
    </dl>
  );
}

function Files({ address, one }: { address: string; one: Mail }) {
  const load = useMutation({
    mutationFn: ({ path, name }: { path: string; name: string }) =>
      downloadFile(`${address}/${path}`, name),
  });
  return (
    <div className="row wrap" role="group" aria-label={t.attachments}>
      {one.attachments.map(({ index, name, bytes }) => {
        const shown = name || t.unnamed(index);
        return (
          <Button
            key={index}
            small
            aria-label={t.download(shown, bytes)}
            onClick={() => load.mutate({ path: `attachments/${index}`, name: shown })}
          >
            <Download className="i sm" aria-hidden="true" />
            <span className="truncate max-w-60">
              <BidiSafe text={shown} />
            </span>
          </Button>
        );
      })}
      <Button
        small
        look="ghost"
        onClick={() => load.mutate({ path: "raw", name: `mail-${one.number}.eml` })}
      >
        <Download className="i sm" aria-hidden="true" /> {t.raw}
      </Button>
      {load.error ? <Refusal>{t.notSaved(describeError(load.error).message)}</Refusal> : null}
    </div>
  );
}
