import { formatCount } from "@/components/quantity";
import { plural } from "@/plural";

// What a node's page says when something is changed there; loaded with the pages of nodes.

export const machineTexts = {
  list: {
    takesNone: "takes nothing new",
    runsOn: "Runs on",
    anyEnvironment: "Every environment",
    anyState: "Every state",
    attention: "Attention",
    anyAttention: "All nodes",
    needs: { you: "Needs attention", nothing: "Needs nothing" } as Record<string, string>,
  },
  provisioning: "Provisioning tokens",
  givenUp: {
    title: (count: number) => `${plural(count, "node")} given up`,
    unread: "Which nodes were given up could not be read.",
    what: "Machines that were given up with what was on them. Nothing on them was touched: what was left is still there if one comes back.",
    columns: { name: "Name", address: "Address", by: "By", when: "When", left: "Left on it" },
    nothing: "nothing",
  },
  edit: "Edit",
  editTitle: (name: string) => `Edit ${name}`,
  form: {
    address: "Address",
    addressHint: "host:port where the agent listens, or a wss:// URL that leads there.",
    addressMissing: "Type host:port, such as 10.20.4.14:5000, or a wss:// URL.",
    agentConnects: "The agent connects",
    agentConnectsHint: "For a machine behind NAT, which cannot be reached from here.",
    labels: "Labels",
    labelsHint:
      "What the machine is, for environments and projects that ask for it: key or key=value, one a line.",
    labelWrong: (line: string) =>
      `"${line}" is no label. Write key or key=value, of letters, digits and . _ / - in between.`,
    twice: (key: string) => `${key} is listed twice.`,
    taints: "Taints",
    taintsHint:
      "Keep deployments away that do not tolerate them: key:no_schedule or key=value:prefer_no_schedule, one a line.",
    taintWrong: (line: string) =>
      `"${line}" is no taint. Write key:no_schedule or key=value:prefer_no_schedule.`,
    runLimit: "Runs at once",
    runLimitHint: "How many runs may be under way here. Empty sets no limit.",
    diskFloor: "Disk floor, MiB",
    diskFloorHint: "With less free disk than this, nothing new is placed here. Empty is 1,024.",
    priority: "Priority",
    priorityHint: "1 to 255. Among nodes that fit, lower numbers are chosen first. Empty is 128.",
    vramHint: "Needs to know GPU memory",
    vramHintHint:
      "Refuses deployments with a service that asks for GPUs and does not say how much of their memory it uses.",
    reactive: "Decides itself",
    reactiveHint:
      "Its agent is asked before each deployment, and a program or webhook of its site claims or declines it.",
    number: (most: number) => `Type a whole number up to ${formatCount(most)}.`,
  },
  settings: {
    none: "none",
    runLimit: (count: number) => plural(count, "run"),
    noLimit: "no limit",
    diskFloor: "Disk floor",
    vramHint: "yes: vram_mib is required",
    reactive: "yes: it is asked before each deployment",
  },
  cluster: {
    title: "Cluster",
    machines: "Machines",
    machine: (version: string, cores: string, memory: string) =>
      `kubelet ${version}, ${cores}, ${memory}`,
    more: (count: number) => `and ${plural(count, "machine")} more`,
    states: { ready: "Ready", cordoned: "Cordoned", not_ready: "Not ready" },
    giveUp: {
      act: "It is gone",
      of: (machine: string) => `It is gone: ${machine}`,
      title: (machine: string) => `Is ${machine} gone for good?`,
      body: "Services with volumes wait for this machine, since they may still write to them. If it is off, say so: they start on other machines, with their data where the storage is not on this machine. If it still runs, two of each would write to the same volume.",
      busy: "Giving it up…",
      done: (services: number) =>
        services === 0
          ? "No service waited for it."
          : `Starting elsewhere: ${plural(services, "service")}.`,
    },
    network: "Network",
    unknownNetwork: "a plugin that is not recognized",
    storage: "Storage",
    noStorage: "no StorageClass",
    isDefault: "default",
    without: "Does not apply",
    withoutWhat:
      "Image clean-up, the disk floor and the range of addresses: the cluster looks after them.",
    diskFloorHint:
      "It does not apply to a cluster, which looks after the disks of its machines. Empty it.",
    upgrade:
      "The agent of a cluster is upgraded with the chart or the manifest of this release, by somebody who administers the cluster. Services keep running.",
    kind: "What it is",
    docker: "A machine with Docker",
    kubernetes: "A Kubernetes cluster",
    helm: "With Helm, in a checkout of this release",
    kubectl: "Without Helm",
    helmLine: "the line with Helm",
    kubectlLine: "the line without Helm",
  },
  print: {
    title: "Print it on the machine, in the same groups",
    clusterTitle: "Print it from the cluster, in the same groups",
    container: "The agent runs in a container",
    service: "It was set up over SSH",
    what: "the command",
  },
  decide: {
    firstTitle: (name: string) => `${name} shows another certificate than expected`,
    first:
      "This is the first contact, and it isn't the certificate that was expected when the node was added. No order and no secret was sent to it. Compare the one shown now with what the machine prints.",
    plainTitle: (name: string) => `${name} shows a certificate nobody has approved`,
    plain:
      "No order and no secret was sent to it. Compare the one shown now with what the machine prints.",
    expected: "Expected",
    reject: "Reject this certificate",
    rejecting: "Rejecting…",
  },
  drain: {
    pending: "What is on the node is being read.",
    unread: "What is on the node could not be read.",
    unknown: "It can't be drained until its deployments are known.",
    body: "Nothing new is placed on it. What is there goes on until it ends or somebody removes it.",
    until: "Empty by",
    untilHint:
      "Empty: for as long as it takes. The deadline stops nothing: a node that is not empty by then is shown as overdue.",
    past: "Choose a time in the future, or none.",
    move: "Move what is ready to other nodes at once",
    moveHint:
      "With names, URLs and volumes. Each is unavailable while it moves. Deployments that can't be moved stay, with the reason.",
    starting: "Beginning…",
    change: "Change the drain",
    changeTitle: (name: string) => `Change the drain of ${name}`,
    changing: "Changing…",
    stays: (why: string) => `It stays: ${why}`,
  },
  upgrade: {
    act: "Upgrade the agent",
    title: (name: string) => `${name} runs an agent of another release`,
    runs: (theirs: string, ours: string) => `It runs ${theirs}, this installation is ${ours}.`,
    unknown: "another release",
    elsewhere:
      "An agent that runs outside Docker, as after a set-up over SSH, can't replace itself: set the machine up over SSH again, or install this release's nullops there and restart nullops-agent. Services keep running either way.",
    confirmTitle: (name: string) => `Replace the agent of ${name}?`,
    confirm: (build: string) =>
      `Docker there pulls the agent of ${build} and replaces the running one. The node is out of reach for some seconds. Services keep running; if the new agent does not start, the old one is restored.`,
    asking: "Replacing…",
    goes: (build: string) =>
      `The agent is being replaced by one of ${build}. The node may be out of reach for some seconds; services keep running.`,
    from: (image: string) => `It is made from ${image}.`,
    done: (build: string) => `The agent was replaced and runs ${build}.`,
    back: "The old agent still runs: the new one could not be pulled or did not start. Its log on the machine says why.",
    again: "Replace it again",
  },
  unknown: {
    title: "Unknown deployments",
    what: "They run on this node but are missing in the restored database. They are left alone until you decide.",
    unread: "The unknown deployments of this node could not be read.",
    columns: { name: "Name", project: "Project", environment: "Environment", state: "State" },
    found: "Found",
    acts: "Actions",
    adopt: "Adopt",
    adoptOf: (name: string) => `Adopt ${name}`,
    adopting: "Adopting…",
    adopted: (name: string) => `${name} is known again, and goes on running under the same URLs.`,
    purge: "Purge",
    purgeOf: (name: string) => `Purge ${name}`,
    purging: "being removed",
    purgeTitle: (name: string, node: string) => `Remove ${name} from ${node}?`,
    purgeBody:
      "The agent stops its services and erases its volumes. The database knows nothing about it, so it cannot be restored.",
    purgeBusy: "Removing…",
    purged: (name: string) =>
      `${name} is being removed. What could not be removed is listed below.`,
  },
  recover: {
    title: (name: string) => `${name} obeys a newer control plane`,
    what: "Its agent has met a control plane that is ahead of this database. This happens after a restore from a backup, or if this installation is a copy of one in use. Services keep running.",
    act: "Recover the node",
    confirmTitle: (name: string) => `Command ${name} again?`,
    confirm:
      "Only if the database was restored from a backup. If this is a copy of a control plane in use, stop it instead: two control planes on one node undo each other's work.",
    recovering: "Recovering…",
    done: "This control plane takes over with the next connection.",
  },
  happened: {
    unread: "What happened to this node could not be read.",
  },
  ssh: {
    unread: "Earlier attempts could not be read.",
    instead: "Set it up over SSH instead",
    passphrase: "Passphrase of the key, if it has one",
    kept: "Password and key are forgotten with a set-up begun here. One begun on the command line may have kept them.",
    forgetKept: "Forget a kept sign-in",
    hostWrong: "Type the machine's name or address, without spaces.",
    portWrong: "Type a port, 1 to 65535.",
    userWrong: "Type the user to sign in as, such as root.",
    credentialMissing: "Type the password, or paste a private key below.",
    pathWrong: "Type an absolute path of letters, digits, dots, - and _, or nothing.",
    rangeWrong: "Type a range such as 10.213.0.0/16, or nothing.",
    advanced: "Advanced",
    advancedHint: "Paths on the machine. The defaults suit most machines.",
    places: {
      directory: { label: "Folder of the program", hint: "Empty: /opt/nullops" },
      data: { label: "Data folder of the agent", hint: "Empty: /var/lib/nullops" },
      run: { label: "Folder in memory", hint: "For secrets. Empty: /run/nullops" },
      docker: { label: "Docker's socket", hint: "Empty: unix:///var/run/docker.sock" },
      subnets: {
        label: "Addresses for networks of deployments",
        hint: "Such as 10.213.0.0/16, where the usual range is in use. Empty: the agent's own.",
      },
    },
  },
  noEnvironment: "There is no environment yet, and each node serves one.",
  addEnvironment: "Add one first",
};
