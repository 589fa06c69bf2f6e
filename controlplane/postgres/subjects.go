package postgres

import "github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"

// subject is what each handle below holds: the queries, and the transaction for other
// subjects and for notifications.
type subject struct {
	tx *Tx
	q  *dbsqlc.Queries
}

func (t *Tx) subject() subject { return subject{tx: t, q: t.q} }

// Users is the handle for people, with their passwords and OpenID identities.
type Users struct{ subject }

// Users returns the handle in this transaction.
func (t *Tx) Users() Users { return Users{t.subject()} }

// Sessions is the handle for the browser sessions of users.
type Sessions struct{ subject }

// Sessions returns the handle in this transaction.
func (t *Tx) Sessions() Sessions { return Sessions{t.subject()} }

// APITokens is the handle for the API tokens of users.
type APITokens struct{ subject }

// APITokens returns the handle in this transaction.
func (t *Tx) APITokens() APITokens { return APITokens{t.subject()} }

// Devices is the handle for the browsers that users signed in with before.
type Devices struct{ subject }

// Devices returns the handle in this transaction.
func (t *Tx) Devices() Devices { return Devices{t.subject()} }

// Links is the handle for one-time links, for invitations and new passwords.
type Links struct{ subject }

// Links returns the handle in this transaction.
func (t *Tx) Links() Links { return Links{t.subject()} }

// Inbox is the handle for what concerns single people and waits to be read.
type Inbox struct{ subject }

// Inbox returns the handle in this transaction.
func (t *Tx) Inbox() Inbox { return Inbox{t.subject()} }

// Comments is the handle for what people say about deployments.
type Comments struct{ subject }

// Comments returns the handle in this transaction.
func (t *Tx) Comments() Comments { return Comments{t.subject()} }

// Verdicts is the handle for what QA says about deployments.
type Verdicts struct{ subject }

// Verdicts returns the handle in this transaction.
func (t *Tx) Verdicts() Verdicts { return Verdicts{t.subject()} }

// AccessRequests is the handle for what people asked admins for.
type AccessRequests struct{ subject }

// AccessRequests returns the handle in this transaction.
func (t *Tx) AccessRequests() AccessRequests { return AccessRequests{t.subject()} }

// Teams is the handle for teams with their members and grants.
type Teams struct{ subject }

// Teams returns the handle in this transaction.
func (t *Tx) Teams() Teams { return Teams{t.subject()} }

// Audit is the handle for the hash chain of audit entries.
type Audit struct{ subject }

// Audit returns the handle in this transaction.
func (t *Tx) Audit() Audit { return Audit{t.subject()} }

// IdempotencyKeys is the handle for the idempotency keys of API requests, with the stored
// responses.
type IdempotencyKeys struct{ subject }

// IdempotencyKeys returns the handle in this transaction.
func (t *Tx) IdempotencyKeys() IdempotencyKeys { return IdempotencyKeys{t.subject()} }

// MasterKeys is the handle for which master keys values are sealed under.
type MasterKeys struct{ subject }

// MasterKeys returns the handle in this transaction.
func (t *Tx) MasterKeys() MasterKeys { return MasterKeys{t.subject()} }

// Registries is the handle for image registries.
type Registries struct{ subject }

// Registries returns the handle in this transaction.
func (t *Tx) Registries() Registries { return Registries{t.subject()} }

// Services is the handle for the catalog's services.
type Services struct{ subject }

// Services returns the handle in this transaction.
func (t *Tx) Services() Services { return Services{t.subject()} }

// Plugins is the handle for the catalog's plugins.
type Plugins struct{ subject }

// Plugins returns the handle in this transaction.
func (t *Tx) Plugins() Plugins { return Plugins{t.subject()} }

// Environments is the handle for environments.
type Environments struct{ subject }

// Environments returns the handle in this transaction.
func (t *Tx) Environments() Environments { return Environments{t.subject()} }

// Projects is the handle for projects.
type Projects struct{ subject }

// Projects returns the handle in this transaction.
func (t *Tx) Projects() Projects { return Projects{t.subject()} }

// Pipelines is the handle for the saved pipeline versions of projects.
type Pipelines struct{ subject }

// Pipelines returns the handle in this transaction.
func (t *Tx) Pipelines() Pipelines { return Pipelines{t.subject()} }

// Drafts is the handle for pipelines that users edit and have not saved yet.
type Drafts struct{ subject }

// Drafts returns the handle in this transaction.
func (t *Tx) Drafts() Drafts { return Drafts{t.subject()} }

// Templates is the handle for the deployment templates of projects.
type Templates struct{ subject }

// Templates returns the handle in this transaction.
func (t *Tx) Templates() Templates { return Templates{t.subject()} }

// DefinitionOwners is the handle for which set of documents owns a definition.
type DefinitionOwners struct{ subject }

// DefinitionOwners returns the handle in this transaction.
func (t *Tx) DefinitionOwners() DefinitionOwners { return DefinitionOwners{t.subject()} }

// Secrets is the handle for the sealed values of projects, deployments and runs.
type Secrets struct{ subject }

// Secrets returns the handle in this transaction.
func (t *Tx) Secrets() Secrets { return Secrets{t.subject()} }

// Certificates is the handle for certificates of the ingress, the internal authority, and
// the control plane's identity.
type Certificates struct{ subject }

// Certificates returns the handle in this transaction.
func (t *Tx) Certificates() Certificates { return Certificates{t.subject()} }

// ACME is the handle for certificates that environments order from an authority.
type ACME struct{ subject }

// ACME returns the handle in this transaction.
func (t *Tx) ACME() ACME { return ACME{t.subject()} }

// Gates is the handle for who the ingress lets through, per environment and deployment.
type Gates struct{ subject }

// Gates returns the handle in this transaction.
func (t *Tx) Gates() Gates { return Gates{t.subject()} }

// Passes is the handle for passes through the gate, with guest links and the tokens of
// robots.
type Passes struct{ subject }

// Passes returns the handle in this transaction.
func (t *Tx) Passes() Passes { return Passes{t.subject()} }

// ReachTickets is the handle for tickets for a connection to a service.
type ReachTickets struct{ subject }

// ReachTickets returns the handle in this transaction.
func (t *Tx) ReachTickets() ReachTickets { return ReachTickets{t.subject()} }

// Deployments is the handle for deployments.
type Deployments struct{ subject }

// Deployments returns the handle in this transaction.
func (t *Tx) Deployments() Deployments { return Deployments{t.subject()} }

// Hosts is the handle for the addresses of deployments' services.
type Hosts struct{ subject }

// Hosts returns the handle in this transaction.
func (t *Tx) Hosts() Hosts { return Hosts{t.subject()} }

// Health is the handle for the health of deployments' services.
type Health struct{ subject }

// Health returns the handle in this transaction.
func (t *Tx) Health() Health { return Health{t.subject()} }

// History is the handle for what happened to deployments.
type History struct{ subject }

// History returns the handle in this transaction.
func (t *Tx) History() History { return History{t.subject()} }

// LogLines is the handle for log lines of steps and services.
type LogLines struct{ subject }

// LogLines returns the handle in this transaction.
func (t *Tx) LogLines() LogLines { return LogLines{t.subject()} }

// Lifetimes is the handle for what ends or prolongs deployments.
type Lifetimes struct{ subject }

// Lifetimes returns the handle in this transaction.
func (t *Tx) Lifetimes() Lifetimes { return Lifetimes{t.subject()} }

// VolumeHolds is the handle for deployments that stand still while a backup reads their volumes, or
// a restore writes them.
type VolumeHolds struct{ subject }

// VolumeHolds returns the handle in this transaction.
func (t *Tx) VolumeHolds() VolumeHolds { return VolumeHolds{t.subject()} }

// Moves is the handle for deployments that are created again elsewhere after they are
// gone.
type Moves struct{ subject }

// Moves returns the handle in this transaction.
func (t *Tx) Moves() Moves { return Moves{t.subject()} }

// Relocations is the handle for deployments that go to another node with their data.
type Relocations struct{ subject }

// Relocations returns the handle in this transaction.
func (t *Tx) Relocations() Relocations { return Relocations{t.subject()} }

// Snapshots is the handle for what is kept of the services of removed deployments.
type Snapshots struct{ subject }

// Snapshots returns the handle in this transaction.
func (t *Tx) Snapshots() Snapshots { return Snapshots{t.subject()} }

// UnknownDeployments is the handle for deployments about which nodes and database
// disagree.
type UnknownDeployments struct{ subject }

// UnknownDeployments returns the handle in this transaction.
func (t *Tx) UnknownDeployments() UnknownDeployments { return UnknownDeployments{t.subject()} }

// Runs is the handle for the runs of deployments.
type Runs struct{ subject }

// Runs returns the handle in this transaction.
func (t *Tx) Runs() Runs { return Runs{t.subject()} }

// Steps is the handle for the steps of runs.
type Steps struct{ subject }

// Steps returns the handle in this transaction.
func (t *Tx) Steps() Steps { return Steps{t.subject()} }

// Approvals is the handle for questions of approval steps, with their answers.
type Approvals struct{ subject }

// Approvals returns the handle in this transaction.
func (t *Tx) Approvals() Approvals { return Approvals{t.subject()} }

// TestReports is the handle for the results of test steps.
type TestReports struct{ subject }

// TestReports returns the handle in this transaction.
func (t *Tx) TestReports() TestReports { return TestReports{t.subject()} }

// Queue is the handle for runs that wait for room on a node.
type Queue struct{ subject }

// Queue returns the handle in this transaction.
func (t *Tx) Queue() Queue { return Queue{t.subject()} }

// Placement is the handle for which nodes have room for a run.
type Placement struct{ subject }

// Placement returns the handle in this transaction.
func (t *Tx) Placement() Placement { return Placement{t.subject()} }

// Nodes is the handle for nodes, with their drains.
type Nodes struct{ subject }

// Nodes returns the handle in this transaction.
func (t *Tx) Nodes() Nodes { return Nodes{t.subject()} }

// NodeTrust is the handle for which certificates nodes are known by.
type NodeTrust struct{ subject }

// NodeTrust returns the handle in this transaction.
func (t *Tx) NodeTrust() NodeTrust { return NodeTrust{t.subject()} }

// NodeTokens is the handle for the tokens that nodes and control plane prove to each
// other.
type NodeTokens struct{ subject }

// NodeTokens returns the handle in this transaction.
func (t *Tx) NodeTokens() NodeTokens { return NodeTokens{t.subject()} }

// Standbys is the handle for the connections that agents leave with a control plane.
type Standbys struct{ subject }

// Standbys returns the handle in this transaction.
func (t *Tx) Standbys() Standbys { return Standbys{t.subject()} }

// NodeEvents is the handle for what happened to nodes.
type NodeEvents struct{ subject }

// NodeEvents returns the handle in this transaction.
func (t *Tx) NodeEvents() NodeEvents { return NodeEvents{t.subject()} }

// Leases is the handle for which control plane commands a node.
type Leases struct{ subject }

// Leases returns the handle in this transaction.
func (t *Tx) Leases() Leases { return Leases{t.subject()} }

// NodeSessions is the handle for what the session with a node acts on.
type NodeSessions struct{ subject }

// NodeSessions returns the handle in this transaction.
func (t *Tx) NodeSessions() NodeSessions { return NodeSessions{t.subject()} }

// NodeReports is the handle for how far the reports of nodes are stored.
type NodeReports struct{ subject }

// NodeReports returns the handle in this transaction.
func (t *Tx) NodeReports() NodeReports { return NodeReports{t.subject()} }

// Provisions is the handle for agents that are installed over SSH.
type Provisions struct{ subject }

// Provisions returns the handle in this transaction.
func (t *Tx) Provisions() Provisions { return Provisions{t.subject()} }

// Ledger is the handle for the usage ledger, prices and budgets.
type Ledger struct{ subject }

// Ledger returns the handle in this transaction.
func (t *Tx) Ledger() Ledger { return Ledger{t.subject()} }

// Usage is the handle for measurements over time.
type Usage struct{ subject }

// Usage returns the handle in this transaction.
func (t *Tx) Usage() Usage { return Usage{t.subject()} }

// Images is the handle for images that nodes must keep.
type Images struct{ subject }

// Images returns the handle in this transaction.
func (t *Tx) Images() Images { return Images{t.subject()} }

// Webhooks is the handle for webhooks.
type Webhooks struct{ subject }

// Webhooks returns the handle in this transaction.
func (t *Tx) Webhooks() Webhooks { return Webhooks{t.subject()} }

// OutwardSecrets is the handle for sealed addresses and keys of other systems.
type OutwardSecrets struct{ subject }

// OutwardSecrets returns the handle in this transaction.
func (t *Tx) OutwardSecrets() OutwardSecrets { return OutwardSecrets{t.subject()} }

// Notifications is the handle for notices to send, and which of them users want.
type Notifications struct{ subject }

// Notifications returns the handle in this transaction.
func (t *Tx) Notifications() Notifications { return Notifications{t.subject()} }

// Deliveries is the handle for what is sent to webhooks and by mail.
type Deliveries struct{ subject }

// Deliveries returns the handle in this transaction.
func (t *Tx) Deliveries() Deliveries { return Deliveries{t.subject()} }

// DefinitionSources is the handle for repositories that hold definitions.
type DefinitionSources struct{ subject }

// DefinitionSources returns the handle in this transaction.
func (t *Tx) DefinitionSources() DefinitionSources { return DefinitionSources{t.subject()} }

// ReviewRules is the handle for rules that create deployments for pull requests and tags.
type ReviewRules struct{ subject }

// ReviewRules returns the handle in this transaction.
func (t *Tx) ReviewRules() ReviewRules { return ReviewRules{t.subject()} }

// Reviews is the handle for pull requests and tags that rules apply to.
type Reviews struct{ subject }

// Reviews returns the handle in this transaction.
func (t *Tx) Reviews() Reviews { return Reviews{t.subject()} }

// Jobs is the handle for periodic jobs, each run by one control plane.
type Jobs struct{ subject }

// Jobs returns the handle in this transaction.
func (t *Tx) Jobs() Jobs { return Jobs{t.subject()} }

// Metrics is the handle for figures for Prometheus.
type Metrics struct{ subject }

// Metrics returns the handle in this transaction.
func (t *Tx) Metrics() Metrics { return Metrics{t.subject()} }

// dump is the handle for loads and lists the tables of a dump.
type dump struct{ subject }

func (t *Tx) dump() dump { return dump{t.subject()} }

// Presence is the handle for who is at the addresses of deployments.
type Presence struct{ subject }

// Presence returns the handle in this transaction.
func (t *Tx) Presence() Presence { return Presence{t.subject()} }

// DeviceLogins is the handle for programs that ask to be signed in.
type DeviceLogins struct{ subject }

// DeviceLogins returns the handle in this transaction.
func (t *Tx) DeviceLogins() DeviceLogins { return DeviceLogins{t.subject()} }
