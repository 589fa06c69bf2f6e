import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { formatBytes } from "@/components/quantity";
import { describeError, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { AGAIN } from "../fleet/queries";
import { Values } from "./Configured";

const t = settingsTexts.backups;
const KEY = ["backups"];
/** How many of the last are shown; the command line has more. */
const SHOWN = 10;

/** Backups that the control plane makes at regular times: where to, how they ended, and one now. */
export function ScheduledBackups() {
  const query = useQuery({
    queryKey: KEY,
    queryFn: () => ask(client.GET("/api/v1/backups")),
    refetchInterval: AGAIN,
  });
  return (
    <section className="col gap-3">
      <h2>{t.scheduled}</h2>
      {query.isPending ? <Skeletons count={2} /> : null}
      {query.isError ? (
        <ErrorState what={t.listUnread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data ? <Known list={query.data} /> : null}
    </section>
  );
}

function Known({ list: { schedule, items } }: { list: Schemas["BackupList"] }) {
  const ended = items.filter((one) => one.name).slice(0, SHOWN);
  return (
    <>
      {schedule ? (
        <>
          <Values
            all={[
              [t.target, schedule.target],
              [t.every, t.hours(schedule.every_hours)],
              [t.keep, String(schedule.keep)],
            ]}
          />
          <StartNow />
        </>
      ) : (
        <p className="row flex-wrap">
          <StatusMark state="warn">{t.noSchedule}</StatusMark> {t.schedule}
        </p>
      )}
      {ended.length > 0 ? (
        <ul className="col">
          {ended.map((one) => (
            <Ended key={one.name} backup={one} />
          ))}
        </ul>
      ) : null}
    </>
  );
}

function Ended({ backup }: { backup: Schemas["Backup"] }) {
  return (
    <li className="row flex-wrap">
      <StatusMark state={backup.error ? "failed" : "done"}>
        {backup.error ? t.failed : t.verified}
      </StatusMark>
      <Time at={backup.at} />
      <span className="mono wrap-anywhere">{backup.name}</span>
      {backup.error ? <span>{backup.error}</span> : <span>{formatBytes(backup.bytes ?? 0)}</span>}
    </li>
  );
}

function StartNow() {
  const cache = useQueryClient();
  const say = useToast();
  const start = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/backups")),
    onSuccess: () => say("done", t.started),
    onError: (error) => say("failed", describeError(error).message),
    onSettled: () => void cache.invalidateQueries({ queryKey: KEY }),
  });
  return (
    <div>
      <Button act={t.start} busy={start.isPending && t.starting} onClick={() => start.mutate()}>
        {t.start}
      </Button>
    </div>
  );
}
