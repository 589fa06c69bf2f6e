/** The parts of the settings, in the order of their tabs. */
export const settingsTabs = [
  "keys",
  "certificates",
  "sign-on",
  "mail",
  "cleanup",
  "backups",
  "about",
] as const;
export type SettingsTab = (typeof settingsTabs)[number];
