import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ask, client, type Deployment, type Schemas } from "@/api/client";
import { mails } from "@/api/queries/mails";
import { useLive } from "@/api/useLive";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { EmptyState, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { useDebounced } from "@/components/useDebounced";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { usePermissionReasonOn } from "../shell/usePermissionReason";
import { inboxTexts as t } from "./inboxTexts";
import { MailView } from "./MailView";
import { ReadFailed } from "./ReadFailed";
import type { PageSearch } from "./search";
import { useSearchChange } from "./useSearchChange";
import "./inbox.css";

type MailList = Schemas["MailList"];
type Props = { deployment: Deployment; search: PageSearch };

/** The mails that the deployment sent, and the one that is open. */
export default function Inbox({ deployment, search }: Props) {
  const { id } = deployment;
  const change = useSearchChange();
  const cache = useQueryClient();
  const find = useDebounced(search.find ?? "", 250);
  const query = useQuery({ ...mails(id, find), placeholderData: keepPreviousData });
  const list = query.data;
  const live = useLive(
    list?.state === "on" ? `/api/v1/deployments/${id}/mails/changes` : null,
    () => void cache.invalidateQueries({ queryKey: ["deployment", id, "mails"] }),
  );
  const reason = list && t.reasons[list.state];
  const nothing = list && list.items.length === 0 && !find && !search.find;
  return (
    <section className="inbox" aria-label={t.title} data-open={search.mail ? "" : undefined}>
      <div className="inbox-list">
        <ReadFailed what={t.unread} query={query} />
        {query.isPending ? <Skeletons count={6} height={56} /> : null}
        {nothing ? (
          <EmptyState title={reason?.[0] ?? t.empty}>{reason?.[1] ?? t.emptyMore}</EmptyState>
        ) : null}
        {list && !nothing ? (
          <>
            <Tools deployment={deployment} list={list} find={search.find} />
            {live.kind === "behind" ? <p className="t2 s px-3 pt-2">{t.late}</p> : null}
            <List list={list} open={search.mail} pick={(mail) => change({ mail })} />
            {list.items.length === 0 && find ? (
              <p className="t2 px-3" role="status">
                {t.nothing(find)}
              </p>
            ) : null}
          </>
        ) : null}
      </div>
      {nothing ? null : (
        <div className="inbox-mail">
          {search.mail ? (
            <MailView
              key={search.mail}
              id={id}
              number={search.mail}
              close={() => change({ mail: undefined })}
            />
          ) : (
            <p className="t3 p-4">{t.choose}</p>
          )}
        </div>
      )}
    </section>
  );
}

type ToolsProps = { deployment: Deployment; list: MailList; find?: string };

/** The search, how full the mailbox is, and what was lost of it. */
function Tools({ deployment, list, find }: ToolsProps) {
  const field = useId();
  const change = useSearchChange();
  const cache = useQueryClient();
  const lack = usePermissionReasonOn(deployment);
  const [asking, setAsking] = useState(false);
  const { id } = deployment;
  return (
    <div className="inbox-tools">
      <label className="vh" htmlFor={field}>
        {t.find}
      </label>
      <input
        id={field}
        data-find
        type="search"
        className="in sm"
        placeholder={t.find}
        maxLength={200}
        value={find ?? ""}
        onChange={(event) => change({ find: event.target.value || undefined })}
      />
      <div className="row wrap">
        <span className="t3 s" role="status">
          {t.count(list.mails, list.bytes)}
        </span>
        <Button
          small
          look="ghost"
          className="end"
          reason={lack}
          act={t.clear}
          onClick={() => setAsking(true)}
        >
          {t.clear}
        </Button>
      </div>
      {list.dropped > 0 ? <p className="t2 s">{t.dropped(list.dropped)}</p> : null}
      {list.refused > 0 ? <p className="t2 s">{t.refused(list.refused, list.max_mail)}</p> : null}
      {list.more ? <p className="t2 s">{t.older}</p> : null}
      {asking ? (
        <ConfirmDelete
          name={t.clearName}
          title={t.clearTitle}
          remove={() =>
            ask(client.DELETE("/api/v1/deployments/{id}/mails", { params: { path: { id } } }))
          }
          done={() => {
            change({ mail: undefined });
            void cache.invalidateQueries({ queryKey: ["deployment", id, "mails"] });
          }}
          close={() => setAsking(false)}
        >
          <p>{t.clearBody}</p>
        </ConfirmDelete>
      ) : null}
    </div>
  );
}

type ListProps = { list: MailList; open?: number; pick: (number: number) => void };

function List({ list, open, pick }: ListProps) {
  return (
    <ul className="inbox-items" aria-label={t.list}>
      {list.items.map((one) => (
        <li key={one.number}>
          <button
            type="button"
            className="inbox-item"
            aria-current={one.number === open ? "true" : undefined}
            onClick={() => pick(one.number)}
          >
            <span className="row">
              <b className="truncate">
                <BidiSafe text={one.subject || t.noSubject} />
              </b>
              <Time at={one.at} short className="t3 s end" />
            </span>
            <span className="t2 s truncate">
              <BidiSafe text={t.to(one.to.join(", "))} />
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
