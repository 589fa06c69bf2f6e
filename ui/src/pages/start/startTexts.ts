import { plural } from "@/plural";

// What the guided way from an empty installation to the first deployment says.

export const startTexts = {
  title: "Your first deployment",
  done: (done: number, all: number) => `${done} of ${all} done`,
  left: (minutes: number) => `about ${minutes} min left`,
  before: "Before you begin",
  leave: "Leave, keep my place",
  dismiss: "Don't show this again",
  resume:
    "Your progress is worked out from what exists: leave whenever you like and continue later.",
  unread: "Your progress could not be read.",
  allDone: "Everything is set up. From now on, the list of deployments is your start page.",
  steps: {
    password: {
      title: "A password of your own",
      todo: "The first password is in the log of the control plane, where others may read it.",
      done: "You chose your password",
      act: "Change it",
    },
    key: {
      title: "A master key",
      todo: "Give one in NULLOPS_MASTER_KEYS: secrets are sealed under it.",
      done: (name: string) =>
        `Secrets are sealed under the key ${name}; keep a copy of it elsewhere.`,
      act: "Look at the keys",
    },
    registry: {
      title: "A registry",
      todo: "Where your images are. Everything that is deployed is pulled from one.",
      known: (hosts: string[]) =>
        `Where your images are. ${hosts.join(", ")} are known already, for images that anybody may pull: add your own, or go on with one of those.`,
      done: (host: string) => `Images come from ${host}`,
      act: "Add registry",
      instead: "Use a public one",
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
      states: {
        enrolled: (name: string) =>
          `The agent of ${name} has never answered. Start it with the line shown when you added the node; Rotate token on its page shows a new one.`,
        offline: (name: string) => `${name} is out of reach.`,
        untrusted: (name: string) =>
          `${name} shows a certificate that nobody approved. Compare the thumbprints on its page, then decide.`,
        incompatible: (name: string) =>
          `${name} runs an agent of another release. Its page upgrades it.`,
        disabled: (name: string) => `${name} is disabled. Enable it on its page.`,
      } as Record<string, (name: string) => string>,
      parts: {
        heard: (address: string) => `Answers on ${address}`,
        trusted: "Certificate trusted, token proved",
        inventory: "Inventory in",
      },
      done: (name: string) => `${name} is online`,
      checked: (name: string, good: number, all: number) =>
        `${name} is online, ${good} of ${plural(all, "check")} passed`,
      act: "Add node",
      look: "Look at it",
      decide: "Decide on it",
    },
    service: {
      title: "A service",
      todo: "What people deploy: an image, and the tags they may choose.",
      done: (count: number) => plural(count, "service"),
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
      queued: (name: string) => `${name} waits for its turn.`,
      asks: (name: string) => `${name} waits for an answer, on its page.`,
      running: (name: string, done: number, all: number) =>
        `${name} is on its way: ${done} of ${plural(all, "step")} done.`,
      failed: (name: string) =>
        `${name} failed, and was undone. Its page says why, and what Retry will run.`,
      stuck: (name: string) =>
        `Something of ${name} could not be removed. Its page says what, and what can be done.`,
      ended: (name: string) => `${name} was ended before it was ready. Create another one.`,
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
  states: {
    done: "Done",
    now: "Next",
    later: "Later",
    todo: "To do",
    wait: "Waiting",
    stuck: "Needs you",
    failed: "Failed",
  },
  others: {
    title: "From a compose file, or with the example shop",
    what: "Both make the registry, the services and the project. On your own machine, with the program nullops:",
    login: "Sign in, once",
    compose: "A compose file",
    composeHint: "What can't be carried over is listed with its line.",
    composeLine:
      "nullops import compose.yaml --project shop > shop.yaml && nullops apply -f shop.yaml",
    shop: "The example shop",
    shopHint:
      "In a copy of the repository; deploy/README.md says how its images get into a registry.",
    shopLine: "nullops apply -f deploy/examples/shop",
    copy: "the command",
  },
};
