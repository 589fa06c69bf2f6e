// What the shell says: sidebar, palette, keys. Part of the first load, so it stays short.

export const shellTexts = {
  nav: {
    deployments: "Deployments",
    urls: "URLs",
    projects: "Projects",
    environments: "Environments",
    nodes: "Nodes",
    services: "Services",
    plugins: "Plugins",
    registries: "Registries",
    secrets: "Secrets",
    users: "Users",
    teams: "Teams",
    account: "Your account",
    audit: "Audit",
    rules: "Rules",
    webhooks: "Webhooks",
    settings: "Settings",
    start: "First run",
  },
  viewing: (name: string) => `You see everything as ${name} and change nothing.`,
  stopViewing: "Stop viewing",
  jump: "Jump to…",
  groups: {
    machines: "Machines",
    parts: "Parts",
    people: "People",
    installation: "Installation",
    start: "Begin here",
  },
};
