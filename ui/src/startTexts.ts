// What the guided way from an empty installation to the first deployment says.

export const startTexts = {
  title: "Your first deployment",
  done: (done: number, all: number) => `${done} of ${all} done`,
  leave: "Leave, keep my place",
  dismiss: "Don't show this again",
  resume:
    "The way is computed from what exists: leave whenever you like, it goes on where you are.",
  unread: "What exists could not be read.",
  allDone: "Everything is there. From here on the list of deployments is home.",
  steps: {
    registry: {
      title: "A registry",
      todo: "Where your images are. Everything that is deployed is pulled from one.",
      done: (host: string) => `Images come from ${host}`,
      act: "Add registry",
    },
    environment: {
      title: "An environment",
      todo: "A domain for URLs, and the machines that serve it.",
      done: (name: string) => `${name} is there`,
      act: "New environment",
    },
    node: {
      title: "A node",
      todo: "A machine with Docker. Name it, then run one line on it; the rest happens by itself.",
      waiting: (name: string) =>
        `${name} is named; waiting for its agent. Run the line on it, and check that its port is open from here.`,
      done: (name: string) => `${name} is online`,
      act: "Add node",
      look: "Look at it",
    },
    service: {
      title: "A service",
      todo: "What people deploy: an image, and the tags they may choose.",
      done: (count: number) => (count === 1 ? "One service" : `${count} services`),
      act: "Add service",
    },
    project: {
      title: "A project with a pipeline",
      todo: "Draw which services start, in which order, and what is prepared for them.",
      unfinished: (name: string) =>
        `${name} has no pipeline yet. Draw it: one service is enough to begin.`,
      done: (name: string) => `${name} has a pipeline`,
      act: "New project",
      draw: "Draw its pipeline",
    },
    deployment: {
      title: "A deployment",
      todo: "Your own copy of the project, at versions you choose.",
      running: (name: string) => `${name} is on its way; its steps tell how far.`,
      failed: (name: string) =>
        `${name} failed, and was undone. Its page says why, and what Retry will run.`,
      done: (name: string) => `${name} is ready`,
      act: "New deployment",
      look: "Watch it",
    },
    open: {
      title: "Open it",
      todo: "Every service that is open to browsers has a URL of its own.",
      done: (url: string) => `It answers at ${url}`,
      act: "Open",
    },
  },
  states: { done: "Done", now: "Next", later: "Later", wait: "Waiting" },
  notYou: "An admin does this step.",
};
