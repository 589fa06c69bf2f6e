import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import { ask, client, type Deployment, type Schemas } from "@/api/client";
import { IdempotencyKeys } from "@/api/idempotency";
import { me } from "@/api/queries/common";
import { comments, mentionable } from "@/api/queries/talk";
import { viewedName } from "@/api/viewAs";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { describeError, EmptyState, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { useDebounced } from "@/components/useDebounced";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { commentTexts as t } from "@/pages/deployment/commentTexts";
import { insertName, mentionsIn, splitMentions, typedName } from "./mentions";
import { ReadFailed } from "./ReadFailed";
import "./comments.css";

type Comment = Schemas["DeploymentComment"];

/** What people say about the deployment, and a place to say more. */
export default function Comments({ deployment: { id } }: { deployment: Deployment }) {
  const query = useQuery(comments(id));
  const cache = useQueryClient();
  const refresh = () => void cache.invalidateQueries({ queryKey: comments(id).queryKey });
  const looking = viewedName();
  return (
    <section className="pane comments" aria-label={t.title}>
      <ReadFailed what={t.unread} query={query} />
      {query.isPending ? <Skeletons count={3} height={56} /> : null}
      {query.data?.items.length === 0 ? (
        <EmptyState title={t.empty}>{t.emptyMore}</EmptyState>
      ) : null}
      {query.data?.items.map((one) => (
        <Said key={one.id} id={id} comment={one} changed={refresh} />
      ))}
      {looking ? <p className="t2">{t.looking(looking)}</p> : <Write id={id} written={refresh} />}
    </section>
  );
}

type SaidProps = { id: string; comment: Comment; changed: () => void };

function Said({ id, comment, changed }: SaidProps) {
  const { data: person } = useSuspenseQuery(me);
  const [asking, setAsking] = useState(false);
  const mine = person.name === comment.author || person.role === "admin";
  return (
    <article className="comment" aria-label={comment.author}>
      <header className="row">
        <b>{comment.author}</b>
        <Time at={comment.at} className="t3 s" alone />
        {mine && !viewedName() ? (
          <Button
            small
            look="ghost"
            className="end"
            aria-label={t.removeOf(comment.author)}
            onClick={() => setAsking(true)}
          >
            {t.remove}
          </Button>
        ) : null}
      </header>
      <p className="whitespace-pre-wrap wrap-anywhere">
        {splitMentions(comment.body, comment.mentions).map((piece, at) =>
          piece.told ? (
            <b key={at} className="mention">
              {piece.text}
            </b>
          ) : (
            <BidiSafe key={at} text={piece.text} />
          ),
        )}
      </p>
      {asking ? (
        <ConfirmDelete
          name={t.commentOf(comment.author)}
          title={t.removeTitle}
          label={t.remove}
          remove={() =>
            ask(
              client.DELETE("/api/v1/deployments/{id}/comments/{comment}", {
                params: { path: { id, comment: comment.id } },
              }),
            )
          }
          done={changed}
          close={() => setAsking(false)}
        >
          <p>{t.removeBody}</p>
        </ConfirmDelete>
      ) : null}
    </article>
  );
}

function Write({ id, written }: { id: string; written: () => void }) {
  const field = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState("");
  const [caret, setCaret] = useState(0);
  const [once] = useState(() => new IdempotencyKeys());
  const send = useMutation({
    mutationFn: (text: string) => {
      const body = { body: text };
      const params = { path: { id }, header: once.header(body) };
      return ask(client.POST("/api/v1/deployments/{id}/comments", { params, body }));
    },
    onError: (error) => once.failed(error),
    onSuccess: () => {
      once.done();
      setText("");
      written();
    },
  });
  const submit = () => {
    if (text.trim() && !send.isPending) send.mutate(text);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  };
  const pick = (name: string) => {
    const [next, at] = insertName(text, caret, name);
    setText(next);
    setCaret(at);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(at, at);
    });
  };
  return (
    <div className="field">
      <label className="lbl" htmlFor={field}>
        {t.label}
      </label>
      <textarea
        ref={area}
        id={field}
        className="area"
        rows={3}
        value={text}
        maxLength={4000}
        aria-describedby={`${field}-more`}
        onKeyDown={keys}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onChange={(event) => {
          setText(event.target.value);
          setCaret(event.target.selectionStart);
          if (!send.isPending) send.reset();
        }}
      />
      <People id={id} typed={typedName(text, caret)} pick={pick} />
      <span id={`${field}-more`} className="hint" role="status">
        {send.data ? <Told comment={send.data} /> : t.hint}
      </span>
      {send.error ? <Refusal>{describeError(send.error).message}</Refusal> : null}
      <span>
        <Button act={t.send} look="ink" busy={send.isPending && t.sending} onClick={submit}>
          {t.send} <kbd>Ctrl Enter</kbd>
        </Button>
      </span>
    </div>
  );
}

/** Those who can be mentioned, while a name is typed. */
function People({ id, typed, pick }: { id: string; typed?: string; pick: (name: string) => void }) {
  const prefix = useDebounced(typed?.toLowerCase() ?? "", 200);
  const found = useQuery({ ...mentionable(id, prefix), enabled: typed !== undefined });
  if (typed === undefined || !found.data || found.data.items.length === 0) return null;
  return (
    <div className="row wrap" role="group" aria-label={t.people}>
      {found.data.items.slice(0, 8).map(({ name, display_name }) => (
        <Button key={name} small aria-label={t.mention(name)} onClick={() => pick(name)}>
          @{name}
          {display_name ? <span className="t3">{display_name}</span> : null}
        </Button>
      ))}
    </div>
  );
}

/** Whom the last comment reached, and whom it did not. */
function Told({ comment }: { comment: Comment }) {
  const missed = mentionsIn(comment.body).filter((name) => !comment.mentions.includes(name));
  return (
    <>
      {comment.mentions.length > 0 ? t.told(comment.mentions.join(", ")) : t.hint}{" "}
      {missed.length > 0 ? t.untold(missed.join(", ")) : null}
    </>
  );
}
