import { type SettingsTab, settingsTabs } from "../settings/tabs";
import type { Place } from "./navigation";
import { shellTexts } from "./shellTexts";

const settings: Record<SettingsTab, string> = {
  keys: "Settings: keys",
  certificates: "Settings: certificates",
  "sign-on": "Settings: sign-on",
  mail: "Settings: mail",
  cleanup: "Settings: clean-up",
  backups: "Settings: backups",
  about: "Settings: about",
};

/** Pages that the palette leads to and the sidebar does not; loaded with the palette. */
export const unlistedPlaces: Place[] = [
  { to: "/account", label: shellTexts.nav.account, group: "people", who: "all" },
  { to: "/deployments/diff", label: "Compare two deployments", group: "", who: "all" },
  { to: "/teams/access", label: "Access of all teams", group: "people", who: "admin" },
  ...settingsTabs.map(
    (tab): Place => ({
      to: `/settings/${tab}`,
      label: settings[tab],
      group: "installation",
      who: "admin",
    }),
  ),
];
