import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Select } from "@/components/Select";
import { describeError } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { TimeAhead } from "@/components/TimeAhead";
import { useToast } from "@/components/Toast";
import { alertTexts as t } from "@/pages/alerts/alertTexts";

type Alert = Schemas["Alert"];

const HOUR = 3_600_000;
const spans = Object.entries(t.spans).map(([value, label]) => ({ value, label }));

/** One alert: what is wrong, since when, what to do, and what people did about it. */
export function AlertItem({ alert }: { alert: Alert }) {
  const state = alert.ended_at ? "done" : alert.severity === "critical" ? "failed" : "warn";
  return (
    <li data-condition={alert.condition}>
      <StatusMark state={state}>
        <span className="vh">{t.severity[alert.severity]}: </span>
        {alert.link ? (
          <Link className="hover:underline" to={alert.link}>
            {alert.summary}
          </Link>
        ) : (
          alert.summary
        )}
      </StatusMark>
      <span className="t2">
        {t.lasting} <Time at={alert.started_at} short className="nw" />
        {alert.ended_at ? (
          <>
            , {t.endedAt} <Time at={alert.ended_at} short className="nw" />
          </>
        ) : (
          <>. {alert.remedy}</>
        )}{" "}
        {alert.acknowledged_by ? t.acknowledgedBy(alert.acknowledged_by) : null}{" "}
        {alert.silenced_until ? (
          <>
            {t.silentUntil(alert.silenced_by ?? "")} <TimeAhead at={alert.silenced_until} />.
          </>
        ) : null}
      </span>
      {alert.can_change ? <Acts alert={alert} /> : null}
    </li>
  );
}

function Acts({ alert }: { alert: Alert }) {
  const path = { params: { path: { id: alert.id } } };
  const acknowledge = useAct(() => client.POST("/api/v1/alerts/{id}/acknowledge", path));
  const silence = useAct((hours: string) =>
    client.PUT("/api/v1/alerts/{id}/silence", {
      ...path,
      body: { until: new Date(Date.now() + Number(hours) * HOUR).toISOString() },
    }),
  );
  const end = useAct(() => client.DELETE("/api/v1/alerts/{id}/silence", path));
  return (
    <span className="row">
      {alert.acknowledged_by ? null : (
        <Button
          small
          busy={acknowledge.isPending && t.acknowledging}
          onClick={() => acknowledge.mutate("")}
        >
          {t.acknowledge}
        </Button>
      )}
      {alert.silenced_until ? (
        <Button small busy={end.isPending && t.ending} onClick={() => end.mutate("")}>
          {t.endSilence}
        </Button>
      ) : (
        <Select
          small
          label={t.silenceFor}
          value={null}
          options={spans}
          placeholder={t.silence}
          onChange={(hours) => silence.mutate(hours)}
        />
      )}
    </span>
  );
}

/** Something done about an alert; the lists are read again then. */
function useAct(act: (input: string) => Parameters<typeof ask>[0]) {
  const queries = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: (input: string) => ask(act(input)),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["alerts"] }),
    onError: (error) => say("failed", `${t.failed} ${describeError(error).message}`),
  });
}
