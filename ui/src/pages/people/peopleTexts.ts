import { formatCount } from "@/components/quantity";
import { plural } from "@/plural";

// What the pages about people say: users, teams, the own account, invitations, viewing as.

type Level = "none" | "read" | "full";
type Pair = { project: string; environment: string };

/** "a", "a or b", "a, b or c". */
const or = (names: string[]) =>
  [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" or ");

export const peopleTexts = {
  users: {
    title: "Users",
    invite: "Invite",
    service: "New service user",
    unread: "The users could not be read.",
    emptyTitle: "Nobody here yet",
    empty: "Invite the people who will use this installation.",
    columns: {
      name: "Name",
      role: "Role",
      state: "State",
      teams: "Teams",
      address: "Address",
      last: "Last sign-in",
    },
    kinds: { person: "Person", service: "Service user" },
    kind: "Kind",
    anyKind: "Any kind",
    states: { active: "Active", off: "Switched off" },
    state: "State",
    anyState: "Any state",
    role: "Role",
    anyRole: "Any role",
    roles: { admin: "Admin", user: "User" },
    never: "never",
    noTeams: "none",
    displayName: "Display name",
    address: "E-mail address",
    addressHint: "A person with a verified address signs in through the provider as this user.",
    admin: "Admin",
    adminHint: "Can see and change everything, but never sees the value of a secret.",
    active: "May sign in",
    activeHint: "When switched off, all sessions and tokens end; open pages close within seconds.",
    delete:
      "Sessions, tokens and team memberships are deleted. Deployments and audit entries stay.",
    serviceTitle: "New service user",
    serviceHint: "For a program: it has tokens, no password, and no session.",
    reset: "Make a reset link",
    resetting: "Making it…",
    resetHint:
      "A link that sets the password once, within a day. The old password works until then.",
    factors: "Remove second factors",
    factorsOf: (name: string) => `The second factors of ${name}`,
    factorsTitle: (name: string) => `Remove the second factors of ${name}?`,
    factorsHint: "For somebody who has lost their phone or key, and the recovery codes.",
    factorsBody:
      "Passkeys, authenticator apps, recovery codes and sessions go. They sign in with the password alone, and add new ones. Make sure that it is really them who asks.",
    viewAs: "View as this user",
    viewAsHint: "You see what they see and can change nothing. The audit log records it.",
    tokens: "Tokens",
    tokenName: "What for",
    tokenFirst: "Make the token first, or clear its name.",
    makeToken: "Make a token",
    tokenMade: "The token is shown only now:",
    noTokens: "No tokens.",
    scope: "Reach",
    scopes: { full: "Everything the user may", read: "Only reads" },
    revoke: "Revoke",
    revokeOf: (name: string) => `Revoke ${name}?`,
    revokeBody: "Programs that use this token are refused from their next request on.",
    used: "Last use",
    ends: "Ends",
    endsNever: "when revoked",
  },
  invitation: {
    title: "Invite somebody",
    address: "E-mail address",
    addressMissing: "Type the address of the person you invite.",
    teams: "Teams",
    teamsHint: "They join these teams at once. Without a team they see nothing.",
    submit: "Make the link",
    made: "Send this link to the person yourself. It is shown only now, works once, and ends after seven days.",
    open: (count: number) => `${plural(count, "unused invitation", "unused invitations")}`,
    unread: "The invitations could not be read.",
    by: (who: string) => `by ${who}`,
    ends: "ends",
    takeBack: "Take back",
    takeBackBody: "The link stops working.",
  },
  teams: {
    title: "Teams",
    add: "New team",
    addTitle: "New team",
    unread: "The teams could not be read.",
    emptyTitle: "No teams yet",
    empty: "A team says who may see and change which projects and environments.",
    columns: { name: "Name", members: "Members", access: "May" },
    nobody: "nobody",
    nothing: "nothing yet",
    description: "Description",
    members: "Members",
    factor: "Members need a second factor",
    factorHint:
      "Of those who sign in with a password here. Until they add one, they can do nothing else.",
    verdicts: "Members may say QA's verdict",
    verdictsHint: "On deployments of what the team may read or change. No level includes it.",
    delete: "Within seconds, its members lose the access that only this team gave them.",
    grid: "Access",
    list: "Teams",
    gridTitle: "What each team may do",
    gridHint:
      "The highest level of all teams counts. A restricted environment needs a level of its own.",
    levels: { none: "–", read: "Read", full: "Full" },
    projects: "Projects",
    environments: "Environments",
    restricted: "restricted",
    changed: (team: string, object: string) => `${team}: access to ${object} is changed.`,
    first: "Add your first team",
  },
  access: {
    team: "Team",
    findTeam: "Find a team",
    findObject: "Find a project or environment",
    show: "Show",
    shows: {
      all: "All projects and environments",
      projects: "Projects only",
      environments: "Environments only",
      granted: "Only where a team has access",
    } as Record<string, string>,
    counted: (teams: string, columns: string) => `${teams}, ${columns}`,
    teamsOf: (shown: number, all: number) =>
      shown === all ? plural(all, "team") : `${shown} of ${plural(all, "team")}`,
    objectsOf: (shown: number, all: number) =>
      shown === all
        ? plural(all, "project or environment", "projects and environments")
        : `${shown} of ${plural(all, "project or environment", "projects and environments")}`,
    noMatch: "Nothing matches",
    noMatchHint: "No team, or no project and environment, matches what you look for.",
    clear: "Show everything",
    giveRow: (team: string) => `Give ${team} access to all that is shown`,
    giveColumn: (object: string) => `Give all teams shown access to ${object}`,
    giveLevel: { read: "Give Read on all shown", full: "Give Full on all shown" },
    giveNote: "Nobody loses anything.",
    gave: (count: number) =>
      count === 0 ? "Everything shown has that level already." : `${plural(count, "grant")} given.`,
    grants: "May",
    addGrant: "Add a project or environment…",
    grantLevel: (object: string) => `Level on ${object}`,
    project: (name: string) => `project ${name}`,
    environment: (name: string) => `environment ${name}`,
    people: (count: number) => plural(count, "person", "people"),
    projectsUnread: "The projects could not be read.",
    environmentsUnread: "The environments could not be read.",
    nothing: "Nothing to give access to yet",
    nothingWhy: "Levels are given on projects and environments, and there is neither.",
    addProject: "Add a project",
    said: { none: "nothing", read: "Read", full: "Full" },
    choices: { none: "Nothing", read: "Read", full: "Full" },
    means: { none: "–", read: "looks", full: "creates and changes" },
    cell: (team: string, object: string, level: string) => `${team} on ${object}: ${level}`,
    ask: (team: string, object: string, before: string, after: string) =>
      `${team} on ${object}: from ${before} to ${after}?`,
    change: "Change it",
    changing: "Changing…",
    counting: "Counting who is affected…",
    uncounted: "Not everyone who is affected is known:",
    shift: (count: number, object: string, before: Level, after: Level) => {
      const who = plural(count, "person", "people");
      const one = count === 1;
      if (after === "none")
        return `${who} ${one ? "loses" : "lose"} ${before === "full" ? "Full" : "Read"} on ${object}.`;
      if (after === "read" && before === "full")
        return `${who} ${one ? "loses" : "lose"} Full on ${object} and ${one ? "keeps" : "keep"} Read.`;
      return `${who} ${one ? "gets" : "get"} ${after === "full" ? "Full" : "Read"} on ${object}.`;
    },
    makers: (count: number) =>
      `${formatCount(count)} of them ${count === 1 ? "has" : "have"} deployments there; these stay.`,
    nobody: (object: string) =>
      `Nobody's access to ${object} changes: every member already has the same access through another team.`,
    closed: (environment: string) =>
      `${environment} is restricted: people without another grant on it no longer see anything in it.`,
    meanwhile: (team: string, object: string, level: string) =>
      `Somebody else changed it: ${team} has ${level} on ${object} now.`,
    can: "Can somebody create it?",
    person: "Can",
    choose: "Choose a person",
    create: "create",
    on: "on",
    yes: "Yes",
    no: "No, not yet",
    unasked: "It could not be asked.",
    off: (person: string) => `${person} is switched off and can't sign in.`,
    admin: (person: string) => `${person} is an admin, who may do everything.`,
    sentence: (reason: string) => `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`,
    lacks: {
      own: (person: string, { environment }: Pair) =>
        `${environment} is restricted, and no team of ${person} has a grant on it.`,
      full: (person: string, { project, environment }: Pair) =>
        `It takes Full on ${project} or on ${environment}, and no team of ${person} has it.`,
      both: (person: string, { environment }: Pair) =>
        `It takes Full on ${environment}, which is restricted, and no team of ${person} has a grant on it.`,
    },
    remedy: (
      person: { name: string; teams: string[] },
      { project, environment }: Pair,
      lack: "own" | "full" | "both",
      others: string[],
    ) => {
      const what = {
        own: `a level on ${environment}`,
        full: `Full on ${project} or on ${environment}`,
        both: `Full on ${environment}`,
      }[lack];
      const ways = [
        person.teams.length > 0 ? `give ${or(person.teams)} ${what}` : "",
        others.length > 0 ? `add ${person.name} to ${or(others)}` : "",
      ].filter(Boolean);
      if (ways.length === 0) return `To allow it, add ${person.name} to a team with ${what}.`;
      return `To allow it, ${ways.join(", or ")}.`;
    },
    who: (names: string[]) => (names.length > 0 ? `${or(names)} can do that.` : ""),
    hint: "The question is asked as this person; the audit log records it.",
    readTitle: "What Read means",
    read: "Sees state, versions, logs, metrics and history, and opens URLs. Never sees a secret's value, never starts, extends or removes anything.",
  },
  account: {
    title: "Your account",
    password: "Password",
    passwordChange: "Change the password",
    current: "Current password",
    next: "New password",
    again: "New password again",
    differ: "The two are not the same.",
    short: "Use at least 12 characters.",
    changed: "The password is changed. Every other session and all your API tokens have ended.",
    ends: "Every other session and all your API tokens end with the old password.",
    noPassword: "You sign in through your provider and have no password here.",
    sessions: "Where you are signed in",
    sessionsUnread: "The sessions could not be read.",
    here: "this browser",
    end: "End",
    endBody: "That browser is signed out at once.",
    endTitle: "End this session?",
    endOthers: "End all others",
    from: (address: string) => `from ${address}`,
    lastUse: "last used",
    unknownDevice: "A program",
    tokens: "API tokens",
    tokensHint: "For the command line and for scripts. A token does what you may do.",
    tokensUnread: "The tokens could not be read.",
    days: "Days until it ends",
    daysHint: "Empty: it is valid until it is revoked.",
    daysWrong: "Type 1 to 3650 days, or leave it empty for a token without an end.",
    access: "Why may I, or why not?",
    accessObject: "Project, environment or deployment",
    accessHint: "project/NAME, environment/NAME or deployment/ID",
    ask: "Explain",
    askWhom: (names: string[]) => `Ask ${names.join(" or ")}.`,
    levels: { none: "No access", read: "Read access", full: "Full access" },
    missing: "What is missing:",
  },
  join: {
    title: "You are invited",
    address: "The e-mail address you were invited with",
    name: "User name",
    nameHint: "Small letters, digits and hyphens.",
    display: "Your name",
    password: "Choose a password",
    submit: "Create account",
    busy: "Creating…",
    noLink: "This link is not complete. Open it again exactly as it was sent.",
  },
  reset: {
    title: "Choose a new password",
    submit: "Set the password",
    busy: "Setting…",
    done: "The password is set. Sign in with it.",
    signIn: "To the sign-in page",
  },
};
