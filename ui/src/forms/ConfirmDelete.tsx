import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiError } from "@/api/client";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { formTexts as t } from "@/forms/formTexts";
import { texts } from "@/texts";

type Props = {
  name: string;
  /** What exactly goes, and what stays. */
  children: ReactNode;
  remove: () => Promise<unknown>;
  /** Called after the deletion: refetch the list, leave the page. */
  done: () => void;
  close: () => void;
  /** The word on the button, when it is not a deletion: "Revoke". */
  label?: string;
  title?: string;
};

/** Confirms a deletion. If the server refuses because the object is in use, lists its users. */
export function ConfirmDelete({ name, children, remove, done, close, label, title }: Props) {
  const say = useToast();
  const act = useMutation({
    mutationFn: remove,
    onSuccess: () => {
      say("done", t.removed(name));
      close();
      done();
    },
  });
  const users = usersOf(act.error);
  const keep = () => {
    if (!act.isPending) close();
  };
  const acts = (
    <>
      <Button onClick={keep}>{users ? texts.close : texts.keep}</Button>
      {users ? null : (
        <Button look="danger" busy={act.isPending && t.removing} onClick={() => act.mutate()}>
          {label ?? t.remove}
        </Button>
      )}
    </>
  );
  return (
    <Confirm
      open
      onClose={keep}
      title={users ? t.inUseTitle(name) : (title ?? t.deleteTitle(name))}
      acts={acts}
    >
      {users ? <Users users={users} /> : children}
      {act.error && !users ? <Refused error={act.error} /> : null}
    </Confirm>
  );
}

function usersOf(error: unknown): string[] | undefined {
  if (!(error instanceof ApiError) || error.status !== 409) return undefined;
  return error.problem.users?.length ? error.problem.users : undefined;
}

function Users({ users }: { users: string[] }) {
  return (
    <>
      <p>{t.inUse(users.length)}</p>
      <ul className="users">
        {users.map((user) => (
          <li key={user} className="text-text">
            {user}
          </li>
        ))}
      </ul>
      <p>{t.inUseRemedy}</p>
    </>
  );
}

function Refused({ error }: { error: unknown }) {
  const { message, request } = describeError(error);
  return (
    <>
      <Refusal>{message}</Refusal>
      {request ? <span className="s mono">{texts.request(request)}</span> : null}
    </>
  );
}
