import type { Schemas } from "@/api/client";

// What the page about rules says: which pull requests become deployments.

export const ruleTexts = {
  title: "Rules",
  add: "Add rule",
  addTitle: "Add a rule",
  unread: "The rules could not be read.",
  emptyTitle: "No rule yet",
  empty:
    "A rule gives each pull request a deployment with URLs, which is removed when the pull request is closed.",
  columns: { name: "Name", source: "From", branch: "Branch", tag: "Tag", to: "Deploys" },
  off: "off",
  everyBranch: "every branch",
  source: "Source",
  anySource: "Every source",
  sources: {
    github: "GitHub",
    gitlab: "GitLab",
    gitea: "Gitea",
    generic: "Another program",
    registry: "A registry",
  } satisfies Record<Schemas["RuleSource"], string>,
  setUp: {
    github:
      "On GitHub: add a webhook with content type application/json, this secret and the events Pull requests and Issue comments.",
    gitlab:
      "On GitLab: add a webhook with this secret token and the triggers Merge request events and Comments.",
    gitea:
      "On Gitea: add a webhook of type Gitea with this secret and the events Pull request, Pull request synchronized and Pull request comment.",
    generic: "The program signs what it posts with this secret, as our own webhooks are signed.",
    registry:
      "In the registry: configure notifications with the header Authorization: Bearer and this secret.",
  } satisfies Record<Schemas["RuleSource"], string>,
  address: "Where the source posts its events",
  addressHint: "Signed with the rule's secret.",
  repository: "Repository",
  repositoryHint: "As the source spells it, such as acme/shop. Empty: every repository.",
  project: "Project",
  anyProject: "Every project",
  environment: "Environment",
  choose: "Choose one",
  projectMissing: "Choose the project that is deployed.",
  environmentMissing: "Choose the environment it is deployed to.",
  branch: "Branch pattern",
  branchOfTags: "Tag pattern",
  branchHint: "A star matches any characters: feature/*. Empty: every branch.",
  tagsHint: "A star matches any characters: pr-*. Empty: every tag.",
  target: "Target branch pattern",
  targetHint: "Which branches it is to be merged into: main, release/*. Empty: every branch.",
  labels: "Labels",
  authors: "Authors",
  paths: "Changed files",
  listHints: {
    labels: "One of them is enough: preview, qa. With !wip, what has that label is left out.",
    authors:
      "Names on the code host, with commas between them. With !renovate, that one is left out.",
    paths:
      "Patterns such as web/**, *.go or !docs/**. The code host is asked, so a token is needed.",
  },
  skipDrafts: "Leave out drafts",
  skipDraftsHint: "A draft gets its deployment when it is ready for review.",
  tag: "Tag of the images",
  tagMissing: "Type the tag that builds give their images, such as pr-{number}.",
  tagWrong: "Use only {branch}, {number}, {commit}, {short} and {tag}, and no star or space.",
  tagWords: "With {branch}, {number}, {commit}, {short} and {tag}.",
  becomes: (tag: string, name: string) =>
    `Branch feature/Login, number 7, commit 4f2a91c… gives ${tag}, in deployment ${name}.`,
  pushed: "With {tag}, which is the tag that was pushed.",
  nameLong: "A rule's name begins the names of its deployments: at most 24 characters.",
  nameHint: "Begins the names of its deployments. Small letters, digits and hyphens, at most 24.",
  wait: "Minutes to wait for the image",
  waitHint: "How long to wait until the registry has an image with the tag. Empty is 30.",
  waitWrong: "Between 1 and 1440.",
  updates: "When a newer build comes",
  updateWays: {
    aside: "Prepare it beside, then switch",
    replace: "Remove what runs, then create",
  } satisfies Record<Schemas["RuleUpdates"], string>,
  updatesHint:
    "Beside: URLs keep working, and what ran before answers at was--… for 30 minutes. Without room for two it is replaced.",
  data: "What its volumes begin with",
  dataWays: {
    fresh: "Nothing, as in a new deployment",
    keep: "A copy of what those of the running one hold",
  } satisfies Record<Schemas["RuleData"], string>,
  freshHint: "What testers entered stays in the volumes of the older build, until that is removed.",
  keepHint:
    "When the newer build has its images, the running one stops, is copied, and stands still until the newer one has its place: nothing that was written is lost, and the URLs do not answer meanwhile. If the newer one fails or takes longer than 15 minutes, the running one starts again.",
  aliases: "Addresses that follow",
  aliasesHint:
    "latest--NAME leads to what became ready last, branch--BRANCH to what is of that branch.",
  forks: "Pull requests from forks",
  forksHint:
    "Each commit waits until somebody who may write to the repository writes /nullops approve COMMIT. The tag has to name the commit.",
  apiUrl: "API of the code host",
  apiUrlHint: "For comments and statuses. GitHub and GitLab have a default.",
  apiMoved: "The address changed: the stored token is deleted unless you type one.",
  token: "Token of the code host",
  tokenHint: "With it the pull request gets a comment with the URLs. Stored sealed.",
  tokenKept: "Leave it empty to keep the stored one, if any.",
  forget: "Forget the stored token",
  secret: "Secret",
  secretHint: "Empty: one is made and shown once.",
  secretKept: "A value is stored, sealed. Leave the field empty to keep it.",
  secretShort: "A secret has at least 16 characters.",
  made: "The secret is shown only now:",
  active: "Makes deployments",
  activeHint: "When switched off, events change nothing; existing deployments stay.",
  delete: "Its secret, token and reviews are erased. Its deployments stay.",
  reviews: "Results of pull requests",
  reviewsUnread: "The reviews could not be read.",
  noReviews: "No event has arrived yet.",
  states: {
    waiting: "Waiting for the image",
    creating: "Being created",
    ready: "Ready",
    failed: "Failed",
    removed: "Removed",
  } satisfies Record<Schemas["Review"]["state"], string>,
  request: "pull request",
};
