import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { deployments } from "@/api/queries/deployments";
import { users } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { type Source, UnreadSource } from "@/forms/UnreadSource";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { texts } from "@/texts";
import { levelOf, nameOf, type Target, withLevel } from "./grants";
import { isGift, type Level, makersAmong, type Shift, shiftsOf } from "./levelChanges";
import type { Change } from "./Matrix";

const a = peopleTexts.access;
type Team = Schemas["Team"];
type Props = { change: Change; team: Team; teams: Team[]; close: () => void };

/**
 * Says whom a lower level reaches, and changes it once that was read. What is given is given at
 * once, and can be taken back where that is said.
 */
export function ChangeLevel({ change, team, teams, close }: Props) {
  const { target, level } = change;
  const say = useToast();
  const cache = useQueryClient();
  const [before] = useState(() => levelOf(team.grants, target));
  const gives = isGift(before, level);
  // The team and the access explanations, also after a refusal.
  const refetch = () =>
    Promise.all(["teams", "access"].map((key) => cache.invalidateQueries({ queryKey: [key] })));
  const { pending, ...reach } = useReach({ team, target, level }, teams);
  const save = useMutation({
    mutationFn: () => saveLevel(team.name, target, before, level),
    onSuccess: () => {
      const said = peopleTexts.teams.changed(team.name, nameOf(target));
      say("done", said, gives ? { label: texts.list.undo, run: () => void takeBack() } : undefined);
      close();
    },
    onSettled: refetch,
  });
  const takeBack = () =>
    saveLevel(team.name, target, level, before)
      .then(
        () => say("done", peopleTexts.teams.changed(team.name, nameOf(target))),
        (error) => say("failed", errorText(error)),
      )
      .finally(refetch);
  const begun = useRef(false);
  useEffect(() => {
    if (gives && !begun.current) save.mutate();
    begun.current = true;
  }, []);
  const keep = () => {
    if (!save.isPending) close();
  };
  const acts = (
    <>
      <Button onClick={keep}>{texts.keep}</Button>
      <Button
        look="ink"
        reason={pending ? a.counting : undefined}
        busy={save.isPending && a.changing}
        onClick={() => save.mutate()}
      >
        {a.change}
      </Button>
    </>
  );
  if (gives && !save.error) return null;
  const title = a.ask(team.name, nameOf(target), a.said[before], a.said[level]);
  return (
    <Confirm open onClose={keep} title={title} acts={acts}>
      {pending ? <p>{a.counting}</p> : <Reach {...reach} target={target} level={level} />}
      {save.error ? <Refusal>{errorText(save.error)}</Refusal> : null}
    </Confirm>
  );
}

/** Whom the change reaches, once the people and what they deployed are read. */
function useReach(change: { team: Team; target: Target; level: Level }, teams: Team[]) {
  const people = useQuery(users);
  const made = useQuery(deployments);
  const shifts = shiftsOf(change, teams, people.data ?? []);
  return {
    pending: people.isLoading || made.isLoading,
    unread: people.error ? people : made,
    shifts,
    makers: made.data && makersAmong(shifts, made.data, change.target),
  };
}

type ReachProps = {
  shifts: Shift[];
  makers?: number;
  unread: Source["of"];
  target: Change["target"];
  level: Level;
};

function Reach({ shifts, makers, unread, target, level }: ReachProps) {
  const on = nameOf(target);
  return (
    <>
      {shifts.length === 0 ? <p>{a.nobody(on)}</p> : null}
      {shifts.map(({ before, after, people }) => (
        <p key={`${before} ${after}`} title={people.join(", ")}>
          {a.shift(people.length, on, before, after)}
        </p>
      ))}
      {makers ? <p>{a.makers(makers)}</p> : null}
      {target.restricted && level === "none" ? <p>{a.closed(on)}</p> : null}
      <UnreadSource what={a.uncounted} of={unread} />
    </>
  );
}

/** The level has changed since the question was shown. */
class Meanwhile extends Error {}

const errorText = (error: Error) =>
  error instanceof Meanwhile ? error.message : describeError(error).message;

/** Reads the team again before writing, and writes only over that version. */
async function saveLevel(name: string, target: Target, before: Level, level: Level) {
  const path = { name };
  const read = await client.GET("/api/v1/teams/{name}", { params: { path } });
  const team = await ask(Promise.resolve(read));
  const now = levelOf(team.grants, target);
  if (now !== before) throw new Meanwhile(a.meanwhile(name, nameOf(target), a.said[now]));
  const tag = read.response.headers.get("ETag");
  return ask(
    client.PUT("/api/v1/teams/{name}", {
      params: { path },
      headers: tag ? { "If-Match": tag } : {},
      body: {
        description: team.description,
        members: team.members,
        grants: withLevel(team.grants, target, level),
      },
    }),
  );
}
