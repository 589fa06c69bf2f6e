// Package ingress forwards requests from people to the services of deployments. It routes
// on the host name alone, by a table that it is given:
//
//	client ──▶ Proxy ──Match(host)──▶ Route ──Dial──▶ agent's tunnel ──▶ service:port
//
// Requests are read by two servers: Server reads plain ones over HTTP/1.1 itself, at a fraction of
// the cost, and leaves everything else to net/http's. Both call Proxy, which decides.
//
// It guarantees:
//
//   - A host has one canonical form, used for insert and for lookup. A host without such a
//     form is unknown, and the page for unknown hosts is always the same.
//   - A table changes atomically. A connection kept from before a change is never used for
//     a deployment that came after it.
//   - One request in is at most one request out: only origin-form targets, framing written
//     by us, every Upgrade but websocket dropped, and no second request on a client
//     connection whose framing could be read in two ways.
//   - X-Forwarded-* headers that an upstream sees are ours, and no header that it might
//     take for one (an underscore for a hyphen) passes.
//   - A host that cannot be served gets a page that says why and what happens next, with a
//     matching status code; problem+json on request.
//   - One bad route affects only itself, and when the source of tables is lost, the last
//     good table stays in use.
//
// It never opens connections by address: Config.Dial receives a Route and finds the way. It
// never interprets paths, queries or bodies.
package ingress
