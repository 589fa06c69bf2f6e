import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CommandLine } from "@/components/CommandLine";
import { Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { ReadFailed } from "../deployment/ReadFailed";
import { AGAIN, lastBackup } from "../fleet/queries";
import { ScheduledBackups } from "./ScheduledBackups";

const t = settingsTexts.backups;

/** How a backup is made and put back; it is an act of the machine, not of this page. */
export function Backups() {
  return (
    <>
      <div>
        <h2>{t.title}</h2>
        <p className="t2">{t.what}</p>
      </div>
      <Last />
      <ScheduledBackups />
      <CommandLine label={t.write} line={t.writeLine} what={settingsTexts.copy} />
      <CommandLine label={t.restore} line={t.restoreLine} what={settingsTexts.copy} />
      <p className="t2">{t.key}</p>
      <p className="t2">
        {t.after}{" "}
        <Link className="link" to="/nodes" search={{}}>
          {t.toNodes}
        </Link>
      </p>
    </>
  );
}

/** When the last one was written, as the audit knows it. */
export function Last() {
  const query = useQuery({ ...lastBackup, refetchInterval: AGAIN });
  return (
    <>
      <ReadFailed what={t.unread} query={query} />
      {query.isPending ? <Skeletons count={1} /> : null}
      {query.data === undefined ? null : <Written at={query.data} />}
    </>
  );
}

function Written({ at }: { at: string | null }) {
  return (
    <p className="row flex-wrap">
      {at ? (
        <StatusMark state="done">
          {t.lastAt} <Time at={at} alone />
        </StatusMark>
      ) : (
        <StatusMark state="warn">{t.never}</StatusMark>
      )}
      <Link className="link" to="/audit" search={{ who: "system:backup" }}>
        {t.last}
      </Link>
    </p>
  );
}
