// Package ingress carries requests from people to the services of
// deployments. It routes on the host name alone, through a table it is handed:
//
//	client ──▶ Proxy ──Match(host)──▶ Route ──Dial──▶ agent's tunnel ──▶ service:port
//
// It promises:
//
//   - One canonical form of a host, used for insert and for lookup. Whatever
//     cannot be written in it is unknown, and unknown is one constant page.
//   - A table changes atomically. A connection kept from before a change is
//     never used for a deployment that came after it.
//   - One request in is at most one request out: only origin-form targets, the
//     framing written anew, every Upgrade but websocket dropped, and no second
//     request on a client connection whose framing could be read two ways.
//   - What an upstream reads in X-Forwarded-* is from us, and no header that it
//     might read as one (an underscore for a hyphen) passes.
//   - A host that cannot be served gets a page that says why and what comes
//     next, with a status code a machine understands; problem+json on request.
//   - One bad route harms itself alone, and a lost source of tables harms
//     nobody: the last good table stays.
//
// It never opens connections by address: Config.Dial is handed a Route and
// finds the way. It never interprets paths, queries or bodies.
package ingress
