// Package agent is the process on a node: it listens for goals, and makes them
// true on a container engine.
//
// What to do is decided by package engine, which is pure. This package keeps
// its promises for it:
//
//   - Intent before effect. What the engine records and reports is one append
//     to the journal, synced to disk, before any effect of it begins. While the
//     disk refuses, nothing new begins, what runs is left alone, and the agent
//     goes on by itself when the disk does.
//   - Reports are numbered, and kept until the control plane acknowledged them
//     and for a while after, so that a control plane restored from a backup can
//     ask again. It swallows doubles by their number.
//   - A torn last record is cut off. A journal damaged otherwise is put aside,
//     and the state comes back from the control plane's goals and the labels on
//     the engine's objects. A journal of a newer release is refused.
//   - Secrets are in memory only, for as long as the deployment is on the node:
//     services that end must start again, and their lines must be masked, while
//     the control plane is away. A restarted agent asks for them again. What is
//     secret among a plugin's outputs is sealed before it is written or sent.
//   - The newest session wins. A lost one changes nothing for what runs.
//
// It knows no Docker; see Runtime.
package agent
