// Package agent is the process on a node: it receives goals from the control plane and
// makes them true on a container engine.
//
// Package engine, which is pure, decides what to do. This package guarantees what it relies
// on:
//
//   - Intent before effect. What the engine records and reports is one append to the
//     journal, synced to disk, before any of its effects begins. While the disk refuses
//     writes, nothing new begins, running services are left alone, and the agent resumes by
//     itself once the disk works again.
//   - Reports are numbered, and kept until the control plane has acknowledged them and for
//     some time after, so that a control plane restored from a backup can request them
//     again. It drops duplicates by their number.
//   - A torn last record is cut off. A journal that is damaged otherwise is set aside, and
//     the state is rebuilt from the control plane's goals and the labels on the engine's
//     objects. A journal of a newer release is refused.
//   - Secrets are kept in memory only, for as long as the deployment is on the node: while
//     the control plane is away, services must be restarted and their log lines masked. A
//     restarted agent requests them again. Secret outputs of plugins are sealed before they
//     are written or sent.
//   - The newest session wins. Losing a session does not affect running services.
//
// An Agent is composed of parts that share a base; assembleParts in agent.go connects them. The
// loop alone touches machines, so they need no lock: other goroutines leave it tasks in the inbox.
// What goroutines do share has these locks:
//
//	lock                guards                                 taken while it is held
//	board.mu            views, progress, health, vitals        imageBook.mu, sampleRecord.mu
//	secretRequests.mu   the secrets that runs wait for         broadcast.mu
//	nodeInventory.mu    what is known of the node              diskWatch.mu
//	sessions.mu         which session is the newest            inbox.mu
//	volumeServer.mu     which volumes are being written
//
// No two locks of the first column are held together, and none is held while the container engine
// is asked.
//
// The package does not depend on Docker; see Runtime.
package agent
