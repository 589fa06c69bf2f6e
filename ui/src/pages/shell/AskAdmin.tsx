import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, client } from "@/api/client";
import { Button } from "@/components/Button";
import { wishOf } from "@/components/lack";
import { describeError } from "@/components/States";
import { Time } from "@/components/Time";
import { askTexts as t } from "@/pages/shell/askTexts";

const own = {
  queryKey: ["access-requests", "own"],
  queryFn: () => ask(client.GET("/api/v1/me/access-requests")),
  staleTime: 30_000,
  retry: false,
};

/** Asks the admins for what a reason says is missing, once; then says that they were asked. */
export default function AskAdmin({ reason }: { reason: string }) {
  const cache = useQueryClient();
  const wish = wishOf(reason);
  const requests = useQuery(own);
  const send = useMutation({
    mutationFn: (object: string) =>
      ask(client.POST("/api/v1/me/access-requests", { body: { object } })),
    onSuccess: () => cache.invalidateQueries({ queryKey: own.queryKey }),
  });
  if (!wish) return null;
  const waiting =
    send.data ?? requests.data?.items.find((request) => request.object === wish.stored);
  if (waiting)
    return (
      <span className="t2 nw" role="status">
        {t.asked} <Time at={waiting.at} />
      </span>
    );
  return (
    <>
      <Button
        small
        title={t.hint}
        busy={send.isPending && t.asking}
        onClick={() => send.mutate(wish.object)}
      >
        {t.ask}
      </Button>
      {send.error ? (
        <span className="t2" role="alert">
          {describeError(send.error).message}
        </span>
      ) : null}
    </>
  );
}
