import { Menu } from "@base-ui/react/menu";
import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { ask, client } from "@/api/client";
import { downloadFile } from "@/api/file";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { usePageAction } from "@/components/pageActions";
import { describeError } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { useNow } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { formatClock } from "@/components/time";
import { auditTexts as t } from "@/pages/audit/auditTexts";
import { texts } from "@/texts";
import { type AuditSearch, exportAddress } from "./search";

/** The last check and its time stay for as long as the tab does; a new one is made when it is asked for. */
const chain = queryOptions({
  queryKey: ["audit-chain"],
  queryFn: () => ask(client.POST("/api/v1/audit/verify")),
  enabled: false,
  gcTime: Number.POSITIVE_INFINITY,
  retry: false,
});

/** Walks the whole chain on request. */
export function Verify() {
  const verify = useQuery(chain);
  return (
    <Button
      act={t.verify}
      busy={verify.isFetching && t.verifying}
      onClick={() => void verify.refetch()}
    >
      {t.verify}
    </Button>
  );
}

/** What the last check found, in words, and when that was. */
export function Chain() {
  const { data: found, dataUpdatedAt, error } = useQuery(chain);
  const now = useNow();
  const at = formatClock(dataUpdatedAt, now);
  return (
    <div className="row wrap px-4 py-1.5 s" role="status">
      {found || error ? null : <span className="t3">{t.unchecked}</span>}
      {found?.ok ? (
        <>
          <StatusMark state="done">{t.whole(at, found.entries)}</StatusMark>
          <CopyButton text={found.head_link} what={t.copyLink} />
        </>
      ) : null}
      {found && !found.ok ? (
        <StatusMark state="failed">{t.broken(at, found.findings)}</StatusMark>
      ) : null}
      {error ? (
        <StatusMark state="failed">
          {t.unverified} {describeError(error).message}
        </StatusMark>
      ) : null}
    </div>
  );
}

const FORMATS = ["csv", "jsonl"] as const;

type Format = (typeof FORMATS)[number];

/** Reads what is shown as a file; a refusal is said. */
function useExport(search: AuditSearch) {
  const say = useToast();
  const file = useMutation({
    mutationFn: (format: Format) =>
      downloadFile(exportAddress(search, format), `nullops-audit.${format}`),
    onError: (error) => {
      const { message, request } = describeError(error);
      say("failed", [t.unexported, message, request && texts.request(request)].join(" "));
    },
  });
  const start = (format: Format) => (file.isPending ? undefined : file.mutate(format));
  return { start, busy: file.isPending };
}

/** What is shown, as a file. */
export function Export({ search }: { search: AuditSearch }) {
  const { start, busy } = useExport(search);
  usePageAction({ label: t.exportAs(t.csv), run: () => start("csv") });
  usePageAction({ label: t.exportAs(t.jsonl), run: () => start("jsonl") });
  return (
    <Menu.Root>
      <Menu.Trigger className="btn" aria-busy={busy}>
        {busy ? t.exporting : t.export}
        <ChevronDown className="i sm" aria-hidden="true" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="over" sideOffset={4} align="end">
          <Menu.Popup className="menu">
            {FORMATS.map((format) => (
              <Menu.Item key={format} className="mi" onClick={() => start(format)}>
                {t[format]}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
