// Package wire is the protocol an agent serves and a control plane speaks.
//
// The agent listens, the control plane dials. Every connection, whatever it
// later carries, goes through the same door:
//
//	control plane                                   agent
//	      │ ── TLS 1.3, both certificates ─────────── │  pins checked both ways,
//	      │                                           │  inside the handshake
//	      │ ── hello: kid, node, nonce, epoch, build ▶│
//	      │ ◀─ answer: nonce, HMAC(K, "agent"‖X) ──── │
//	      │ ── confirm: HMAC(K, "control-plane"‖X) ──▶│
//	      │ ◀─ verdict: admitted, or why not ──────── │
//	      │ ══ HTTP/1.1: session, CONNECT, logs ═════ │
//
// X binds the whole exchange to this one TLS session (RFC 9266), to both certificates, both nonces,
// the node, the epoch and both builds. So the token never crosses the wire, and an attacker who
// terminates TLS in between has two sessions, two exporters and no proof.
//
// What it promises: Dial returns, and a Listener yields, only connections that
// passed all of that. Before its pin check neither end sends a byte of its own.
// Before the confirm every refusal is one constant text. A peer that sends
// garbage, floods or stalls costs a bounded amount of memory and time.
//
// What it never does: send, log or store a token or a key made from one;
// follow a redirect; resume a TLS session; decide what a command means.
package wire
