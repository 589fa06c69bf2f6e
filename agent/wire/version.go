package wire

// Protocol is the version of everything in this package: the proof's frames, the messages
// and the paths. Increment it with any change that an older peer would misread. Samples of
// each version stay in testdata permanently.
//
//	1  2026-11  first version: three-step proof, session, tunnel, logs
const Protocol = 1

// Build is the release a binary was made from, such as "1.4.0" or "dev". Both
// ends must run the same one: the message families carry no compatibility. Tunnels do,
// within a Protocol: who opens one may name the release of the agent instead of its own.
type Build string

// alpn separates this port's protocol from everything else that speaks TLS.
// Its number is that of the handshake and moves only if the proof itself does,
// so that a newer control plane can still learn *that* an agent is older.
const alpn = "nullops-agent/1"

// Paths of the HTTP that an agent serves over proven connections. Tunnels use
// the CONNECT method and HeaderTarget instead.
const (
	PathSession     = "/v1/session"
	PathRunLogs     = "/v1/runs/logs"
	PathServiceLogs = "/v1/deployments/{id}/services/{key}/logs"
)
