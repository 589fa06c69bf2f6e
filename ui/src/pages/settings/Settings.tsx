import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Top, useTitle } from "@/components/Shell";
import { useTabInSight } from "@/components/useTabInSight";
import { settingsTexts as t } from "@/pages/settings/settingsTexts";
import { NotFound } from "../shell/ErrorPages";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { About } from "./About";
import { Backups } from "./Backups";
import { Certificates } from "./Certificates";
import { Cleanup } from "./Cleanup";
import { Keys } from "./Keys";
import { MailSettings } from "./MailSettings";
import { SignOn } from "./SignOn";
import { type SettingsTab, settingsTabs } from "./tabs";

const route = getRouteApi("/app/settings/{-$tab}");
const tabs: Record<SettingsTab, () => ReactNode> = {
  keys: Keys,
  certificates: Certificates,
  "sign-on": SignOn,
  mail: MailSettings,
  cleanup: Cleanup,
  backups: Backups,
  about: About,
};

/** What belongs to the installation as a whole. */
export function Settings() {
  const { tab = "keys" } = route.useParams();
  const reason = useReasonNotAdmin();
  useTitle(t.tabs[tab] ?? t.title, t.title);
  const inSight = useTabInSight(tab);
  const Shown = tabs[tab as SettingsTab];
  if (reason || !Shown) return <NotFound />;
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
      </Top>
      <nav ref={inSight} className="tabs line" aria-label={t.title}>
        {settingsTabs.map((one) => (
          <Link
            key={one}
            className="tab"
            to="/settings/{-$tab}"
            params={{ tab: one }}
            aria-current={one === tab ? "page" : undefined}
            activeProps={{ "aria-current": one === tab ? "page" : undefined }}
          >
            {t.tabs[one]}
          </Link>
        ))}
      </nav>
      <div className="body">
        <div className="sheetpage">
          <Shown />
        </div>
      </div>
    </>
  );
}
