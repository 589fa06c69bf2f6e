package controlplane

import "time"

// ReviewRuleID and ReviewID name rules and what they made.
type (
	ReviewRuleID string
	ReviewID     string
	// ReviewCommandID names what somebody wrote below a pull request.
	ReviewCommandID string
)

// ReviewSource says who sends the events of a rule.
type ReviewSource string

// The sources.
const (
	ReviewGitHub ReviewSource = "github"
	ReviewGitLab ReviewSource = "gitlab"
	ReviewGitea  ReviewSource = "gitea"
	// ReviewBitbucket is Bitbucket Cloud.
	ReviewBitbucket ReviewSource = "bitbucket"
	ReviewGeneric   ReviewSource = "generic"
	ReviewRegistry  ReviewSource = "registry"
	// ReviewSchedule is the clock: nobody sends events.
	ReviewSchedule ReviewSource = "schedule"
)

// ReviewRule turns pull requests, or pushed tags, into deployments. Its keys
// are sealed apart.
type ReviewRule struct {
	ID     ReviewRuleID
	Name   string
	Source ReviewSource
	// Repository narrows it, as the source spells it; empty means all.
	Repository           string
	Project, Environment string
	// Branch is a pattern; empty means all.
	Branch string
	// Filter narrows it to some pull requests.
	Filter ReviewFilter
	// Tag is the tag a branch's image has, with {branch}, {number}, {commit} and
	// {short} filled in.
	Tag string
	// Input are values of fields that the project's pipeline declares.
	Input map[string]any
	// Wait is how long the registry may take to have the tag.
	Wait time.Duration
	// Schedule says when a rule whose source is the schedule deploys its branch, and NextRun when that
	// is next; zero once it has ended.
	Schedule ReviewSchedulePlan
	NextRun  time.Time
	// APIURL is where comments and statuses go; empty means nowhere, or the
	// source's own public address where a key is given.
	APIURL string
	// Updates says how a newer build gets to the addresses.
	Updates ReviewUpdates
	// Data says what a newer build begins with.
	Data ReviewData
	// Aliases has addresses follow what of the rule is ready; see ReviewAlias.
	Aliases bool
	// Forks takes pull requests from forks, each commit of which somebody has to approve.
	Forks     bool
	Active    bool
	CreatedBy string
	CreatedAt time.Time
	// Refusal is what the code host refused last; empty if it took what it was told last. Saving the
	// rule clears it.
	Refusal string
}

// ReviewSchedulePlan says when a branch is deployed, and for how long.
type ReviewSchedulePlan struct {
	// At is "02:30", "mon-fri 02:30", or the five fields of cron.
	At string `json:"at,omitempty"`
	// TimeZone is one of the IANA database: "Europe/Berlin".
	TimeZone string `json:"time_zone,omitempty"`
	// Hours is how long a deployment lives without activity; zero is what its project says.
	Hours int `json:"lifetime_hours,omitempty"`
	// Until is when the schedule ends; nil for never.
	Until *time.Time `json:"until,omitempty"`
}

// ReviewUpdates says how a newer build gets to the addresses of a review.
type ReviewUpdates string

// The ways. Aside prepares a deployment beside the one that runs and switches when it is ready;
// replace removes the one that runs first.
const (
	UpdateAside   ReviewUpdates = "aside"
	UpdateReplace ReviewUpdates = "replace"
)

// ReviewData says what the volumes of a newer build begin with.
type ReviewData string

// The ways. Fresh volumes are empty; with keep they hold what those of the deployment that runs
// held when it was stopped for it.
const (
	DataFresh ReviewData = "fresh"
	DataKeep  ReviewData = "keep"
)

// ReviewFilter narrows a rule to some pull requests. Of labels, authors and paths one has to match;
// an entry that begins with "!" leaves out what it matches, whatever else matches.
type ReviewFilter struct {
	// Target is a pattern of the branch that a pull request is to be merged into; empty means all.
	Target string `json:"target,omitempty"`
	// Labels and Authors are names, whatever their case.
	Labels  []string `json:"labels,omitempty"`
	Authors []string `json:"authors,omitempty"`
	// Paths are patterns of files of which the pull request changes one: "web/**", "*.go".
	Paths []string `json:"paths,omitempty"`
	// SkipDrafts leaves out drafts until they are ready for review.
	SkipDrafts bool `json:"skip_drafts,omitempty"`
}

// IsEmpty reports whether a filter leaves out nothing.
func (f ReviewFilter) IsEmpty() bool {
	return f.Target == "" && !f.SkipDrafts && len(f.Labels)+len(f.Authors)+len(f.Paths) == 0
}

// ReviewState is how far a review is.
type ReviewState string

// The states.
const (
	ReviewWaiting  ReviewState = "waiting"
	ReviewCreating ReviewState = "creating"
	ReviewReady    ReviewState = "ready"
	ReviewFailed   ReviewState = "failed"
	ReviewRemoved  ReviewState = "removed"
)

// PullRequest is what a deployment was made for.
type PullRequest struct {
	Repository  string
	Number      int
	Title, Link string
	// Remark is what people should know of how the deployment got there; empty if nothing.
	Remark string
}

// Review is one pull request, or one pushed tag, and its deployment.
type Review struct {
	ID   ReviewID
	Rule ReviewRuleID
	// Key distinguishes the reviews of a rule: repository and number, or image. A long
	// one is shortened, and ends in a hash then.
	Key string
	// Repository is as the source spells it; empty for reviews made before it
	// was stored.
	Repository string
	// RepositoryID is the source's own, which outlives a change of the name; empty
	// where it sends none.
	RepositoryID string
	Number       int
	Title        string
	Branch       string
	Commit       string
	Link         string
	Tag          string
	Want         Goal
	// Fork is set for a pull request from a fork, and ApprovedCommit is the commit of it that may be
	// deployed; empty for none.
	Fork           bool
	ApprovedCommit string
	// Outside says why the rule's filter leaves out an open pull request; empty if it does not.
	Outside string
	// Generation grows with each event; Done and Told follow it.
	Generation, Done, Told int64
	CommentID              string
	// Deployment is the wanted name, DeploymentID what was made.
	Deployment   string
	DeploymentID DeploymentID
	// NextID is prepared beside it, to take its place; empty while there is no update.
	NextID DeploymentID
	State  ReviewState
	Detail string
	// HostRecord is the code host's own record of the deployment, and HostCommit the commit that it
	// is of; empty if it has none.
	HostRecord, HostCommit string
	// VerdictWanted grows with each change of QA's verdict on the commit; VerdictTold follows it.
	VerdictWanted, VerdictTold int64
	// Remark is what people should know of the last update, whatever the state; empty for nothing.
	Remark string
	// WaitsSince is since when a removal waits for those who are there; zero if none waits.
	WaitsSince time.Time
	GiveUpAt   time.Time
	// EventAt is the host's own time of the newest event; zero if unknown.
	EventAt   time.Time
	DueAt     time.Time
	ChangedAt time.Time
}

// AwaitsApproval reports whether a commit of a fork waits until somebody lets it be deployed.
func (r Review) AwaitsApproval() bool {
	return r.Fork && r.Want == GoalPresent && r.ApprovedCommit != r.Commit
}

// ReviewCommand is what somebody wrote below a pull request: "/nullops extend".
type ReviewCommand struct {
	ID     ReviewCommandID
	Review ReviewID
	Verb   string
	// Argument is what follows the verb; empty for nothing.
	Argument string
	// Author is their name on the code host, and AuthorID their id there, if it sends one.
	Author, AuthorID string
	At               time.Time
	// Answer is what became of it; empty until it is done.
	Answer string
}

// ReviewAlias is a name whose hosts follow a rule: "latest--RULE" leads to what became ready last,
// "branch--BRANCH" to what is of that branch.
type ReviewAlias struct {
	Name        string
	Rule        ReviewRuleID
	Environment EnvironmentID
	Deployment  DeploymentID
}
