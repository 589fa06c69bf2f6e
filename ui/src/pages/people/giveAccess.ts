import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { texts } from "@/texts";
import { levelOf, type Target, withLevel } from "./grants";
import { isGift } from "./levelChanges";

type Team = Schemas["Team"];
export type Gift = { teams: string[]; targets: Target[]; level: "read" | "full" };

/** Gives many levels at once. Nothing is taken, so nothing is asked; it can be taken back. */
export function useGiveAccess() {
  const say = useToast();
  const cache = useQueryClient();
  const refetch = () =>
    Promise.all(["teams", "access"].map((key) => cache.invalidateQueries({ queryKey: [key] })));
  const give = useMutation({
    mutationFn: async ({ teams, targets, level }: Gift) => {
      const before: { name: string; grants: Team["grants"]; given: Target[] }[] = [];
      for (const name of teams) {
        await changeGrants(name, (grants) => {
          const given = targets.filter((one) => isGift(levelOf(grants, one), level));
          if (given.length > 0) before.push({ name, grants, given });
          return given.reduce((now, one) => withLevel(now, one, level), grants);
        });
      }
      return before;
    },
    onSuccess: (before) => {
      const count = before.reduce((sum, { given }) => sum + given.length, 0);
      const takeBack = async () => {
        try {
          for (const { name, grants, given } of before)
            await changeGrants(name, (now) =>
              given.reduce((all, one) => withLevel(all, one, levelOf(grants, one)), now),
            );
        } catch (error) {
          say("failed", describeError(error).message);
        }
        await refetch();
      };
      const undo = { label: texts.list.undo, run: () => void takeBack() };
      say("done", peopleTexts.access.gave(count), count > 0 ? undo : undefined);
    },
    onError: (error) => say("failed", describeError(error).message),
    onSettled: refetch,
  });
  return give.mutate;
}

/** Reads the team's grants, and writes them over exactly what was read. */
async function changeGrants(name: string, change: (grants: Team["grants"]) => Team["grants"]) {
  const path = { name };
  const read = await client.GET("/api/v1/teams/{name}", { params: { path } });
  const team = await ask(Promise.resolve(read));
  const grants = change(team.grants);
  if (grants === team.grants) return;
  const tag = read.response.headers.get("ETag");
  await ask(
    client.PUT("/api/v1/teams/{name}", {
      params: { path },
      headers: tag ? { "If-Match": tag } : {},
      body: { description: team.description, members: team.members, grants },
    }),
  );
}
