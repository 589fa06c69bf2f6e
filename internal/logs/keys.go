package logs

// Keys that belong lines of all components together.
const (
	Component = "component"
	TraceID   = "trace_id"
	RequestID = "request_id"
)

// Key is a name under which lines say something.
type Key struct{ Name, Meaning string }

// Keys lists every name that a line may use, and what stands under it: in each component the same.
// Those that say what a line is about come first.
func Keys() []Key {
	return append(subjectKeys(), detailKeys()...)
}

func subjectKeys() []Key {
	return []Key{
		{Component, "the part of the product that says it; levels are set by it"},
		{TraceID, "the trace that it belongs to, if that is sampled"},
		{RequestID, "the request that caused it, as in `X-Request-Id`"},
		{"deployment_id", "the deployment's ID"},
		{"run_id", "the run's ID"},
		{"step", "the key of the step or service"},
		{"node_id", "the node's ID"},
		{"user_id", "the person's ID"},
		{"deployment", "the deployment's name"},
		{"node", "the node's name"},
		{"user", "the person's name"},
		{"environment", "the environment's name"},
		{"offer_id", "the offer's ID"},
		{"review", "the pull request or tag, as its rule names it"},
		{"rule", "the rule's name"},
		{"source", "the name of the source of definitions"},
		{"volume", "the volume's name"},
		{"plugin", "the plugin's name"},
		{"certificate", "the certificate's name"},
		{"subject", "the name that a certificate is for"},
		{"image", "the image"},
		{"container", "the container's name or ID"},
		{"network", "the network's ID"},
		{"endpoint", "the container on a network"},
		{"object", "the engine's object, by name or ID"},
		{"kind", "what kind of object it is"},
		{"namespace", "the namespace in the cluster"},
		{"pod", "the pod"},
		{"machine", "the cluster's machine"},
		{"backup", "the backup's name"},
		{"holder", "who holds a lease"},
		{"install", "the ID of this installation of an agent"},
		{"kid", "the ID of a token's key"},
		{"key", "the name of a sealing key"},
	}
}

func detailKeys() []Key {
	return []Key{
		{"error", "what went wrong"},
		{"cause", "what is behind the error that was answered"},
		{"reason", "why it was decided so"},
		{"detail", "what was found"},
		{"damage", "what is wrong with a file"},
		{"remedy", "what to do"},
		{"code", "the code of a failure"},
		{"condition", "the condition of an alert"},
		{"conditions", "the conditions of alerts"},
		{"line", "the line that was dropped"},
		{"dropped", "how many were dropped"},
		{"count", "how many it is about"},
		{"failures", "how often it failed in a row"},
		{"attempt", "which attempt it is"},
		{"retry_in", "when it is tried again, from now"},
		{"retry_at", "when it is tried again"},
		{"skew", "by how much a clock was set"},
		{"older_than", "the age from which on it is removed"},
		{"seconds", "how long it took"},
		{"bytes", "how many bytes"},
		{"method", "the HTTP method"},
		{"path", "the path of a request, without its query"},
		{"operation", "the operation of the API"},
		{"status", "the HTTP status"},
		{"from", "the address that it came from"},
		{"host", "the host name that was asked for"},
		{"page", "the page that was shown instead of a service"},
		{"url", "the address of a server"},
		{"address", "where a process listens, or connects to"},
		{"domain", "a domain of an environment"},
		{"ui", "the host name of the UI"},
		{"https", "whether it speaks HTTPS"},
		{"authority", "whether there is an authority of its own"},
		{"fingerprint", "the fingerprint of a certificate"},
		{"not_after", "when a certificate ends"},
		{"place", "where a backup is kept"},
		{"build", "the release of a process"},
		{"pid", "the ID of a process"},
		{"folder", "a folder"},
		{"file", "a file"},
		{"output", "what a program said"},
		{"signal", "the signal that a process got"},
		{"panic", "what a panic said"},
		{"stack", "where it was"},
		{"generation", "the number of a goal"},
		{"epoch", "the number of a lease"},
		{"want", "what a goal asks for"},
		{"phase", "the phase of a deployment"},
		{"claim", "how a site answers an offer"},
		{"target", "the port of a service that was asked for"},
		{"alive", "whether it is alive"},
		{"allowed", "whether it is allowed"},
		{"open", "how many connections are open"},
		{"open_from", "how many of them are from this address"},
		{"limit", "how many may be open"},
		{"limit_each", "how many may be from one address"},
		{"connections", "how many connections"},
		{"deployments", "how many deployments, or which"},
		{"services", "how many services"},
		{"volumes", "how many volumes"},
		{"consistency", "how volumes were made still for a backup"},
		{"entries", "how many entries of the audit log"},
		{"entry", "the number of an entry of the audit log"},
		{"findings", "what was found in the audit log"},
		{"head", "the number of the newest entry of the audit log"},
		{"link", "the link of the newest entry of the audit log"},
	}
}

// Components are the parts that log under a name of their own, in the process that they are of.
func Components() map[string][]string {
	return map[string][]string{
		"server": {"accounts", "acme", "alerts", "api", "catalog", "database", "fleet", "ingress",
			"jobs", "keyring", "lifecycle", "notify", "provision", "review", "sources", "tracing", "usage",
			"vault"},
		"agent": {"agent", "cluster", "docker", "tracing"},
	}
}
