/** Texts of what is measured over time, of a service, of a node and of all nodes. */
export const figureTexts = {
  cpu: "CPU, cores",
  memory: "Memory in use",
  diskFree: "Disk free",
  network: "Network",
  disk: "Disk",
  in: "in",
  out: "out",
  read: "read",
  written: "written",
  perSecond: (amount: string) => `${amount}/s`,
};
