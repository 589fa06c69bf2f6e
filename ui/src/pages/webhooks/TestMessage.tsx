import { useMutation } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { StatusMark } from "@/components/Status";
import { TestStored } from "@/forms/TestStored";
import { useRefresh } from "@/forms/useSaved";
import { webhookTexts as t } from "@/pages/webhooks/noticeTexts";
import { outcomeText } from "./Deliveries";

/** Sends one message to what is stored, and says how that went. */
export function TestMessage({ name, dirty }: { name: string; dirty: boolean }) {
  const refresh = useRefresh(["deliveries"]);
  const test = useMutation({
    mutationFn: () =>
      ask(client.POST("/api/v1/webhooks/{name}/test", { params: { path: { name } } })),
    onSuccess: refresh,
  });
  return (
    <TestStored test={test} texts={t} dirty={dirty} unasked={t.notTried}>
      {test.data ? <Tested sent={test.data} /> : null}
    </TestStored>
  );
}

function Tested({ sent }: { sent: Schemas["Delivery"] }) {
  if (sent.status === "sent") return <StatusMark state="done">{t.taken(sent.answer)}</StatusMark>;
  return (
    <StatusMark state="failed">
      {t.refused} {outcomeText(sent)}
    </StatusMark>
  );
}
