import { Menu } from "@base-ui/react/menu";
import { useMutation } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { ask, client } from "@/api/client";
import { auditTexts as t } from "@/auditTexts";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { StatusMark } from "@/components/Status";
import { type AuditSearch, exportAddress } from "./search";

/** Walks the whole chain on request, and says in words what was found. */
export function Chain() {
  const verify = useMutation({ mutationFn: () => ask(client.POST("/api/v1/audit/verify")) });
  const found = verify.data;
  return (
    <span className="row" role="status">
      {found?.ok ? (
        <span className="row hide-m">
          <StatusMark state="done">{t.whole(found.entries)}</StatusMark>
          <CopyButton text={found.head_link} what={t.copyLink} />
        </span>
      ) : null}
      {found && !found.ok ? (
        <StatusMark state="failed">
          {t.broken(found.findings[0]?.seq ?? 0)} {t.brokenMore(found.findings.length)}
        </StatusMark>
      ) : null}
      {verify.isError ? <StatusMark state="failed">{t.unverified}</StatusMark> : null}
      <Button busy={verify.isPending && t.verifying} onClick={() => verify.mutate()}>
        {t.verify}
      </Button>
    </span>
  );
}

/** What is shown, as a file. */
export function Export({ search }: { search: AuditSearch }) {
  return (
    <Menu.Root>
      <Menu.Trigger className="btn">
        {t.export}
        <ChevronDown className="i sm" aria-hidden="true" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="over" sideOffset={4} align="end">
          <Menu.Popup className="menu">
            {(["csv", "jsonl"] as const).map((format) => (
              <Menu.Item
                key={format}
                className="mi"
                render={<a href={exportAddress(search, format)} download aria-label={t[format]} />}
              >
                {t[format]}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
