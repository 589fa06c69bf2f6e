import { useMutation } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { describe } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { webhookTexts as t } from "@/noticeTexts";
import { useRefresh } from "../admin/useSaved";
import { outcome } from "./Deliveries";

/** Sends one message to what is stored, and says how that went. */
export function TestMessage({ name, dirty }: { name: string; dirty: boolean }) {
  const refresh = useRefresh(["deliveries"]);
  const test = useMutation({
    mutationFn: () =>
      ask(client.POST("/api/v1/webhooks/{name}/test", { params: { path: { name } } })),
    onSuccess: refresh,
  });
  return (
    <div className="col gap-2" role="status">
      <span>
        <Button
          reason={dirty ? t.testFirst : undefined}
          busy={test.isPending && t.testing}
          onClick={() => test.mutate()}
        >
          {t.test}
        </Button>
      </span>
      {test.data ? <Tested sent={test.data} /> : null}
      {test.error ? (
        <StatusMark state="failed">
          {t.notTried} {describe(test.error).message}
        </StatusMark>
      ) : null}
    </div>
  );
}

function Tested({ sent }: { sent: Schemas["Delivery"] }) {
  if (sent.status === "sent") return <StatusMark state="done">{t.taken(sent.answer)}</StatusMark>;
  return (
    <StatusMark state="failed">
      {t.refused} {outcome(sent)}
    </StatusMark>
  );
}
