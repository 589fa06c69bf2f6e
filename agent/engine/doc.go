// Package engine decides what an agent does for one deployment. It performs none of it.
//
// A Machine receives events (a goal, the end of an operation, a listing, the passing of
// time) and returns effects (records to journal, reports to send, operations to start). It
// has no goroutine, no clock, no randomness and no I/O; its behaviour depends on its events
// alone. So a simulator can try thousands of crashes, and a journal can be replayed.
//
// The caller must guarantee:
//
//   - All Record and Report effects of one Step are on disk, together or not at all, before
//     any other effect of that Step is performed.
//   - Every Do ends with exactly one Ended; after a Cancel, soon.
//   - After a crash the machine is rebuilt from its records with Replay, and receives
//     Restarted. Operations from before the crash are forgotten; no Ended for them may
//     follow.
//   - A listing that failed is not an event.
//
// In return the Machine guarantees:
//
//   - Steps run one at a time, in the stored order, each after all steps before it are
//     done. Images are pulled early, and the sandboxes of the next steps are started early;
//     neither has an effect outside the container engine: nothing of an image runs in them.
//   - The intent is recorded before the effect. A step with an unknown outcome is run again
//     only if it is idempotent; otherwise the run fails, and the step is undone as if it
//     had been done.
//   - After a failure or a cancel no further step starts, and everything that was started
//     is undone in reverse order, even if parts of that fail. What could not be undone is
//     listed, and tried again with the next goal.
//   - A job is done when its container has ended with exit code 0; steps after it start only
//     then. It is started once in a run, also if the agent or the engine restarts, and it is
//     stopped at its deadline.
//   - An approval that waits for a person holds no resources. Its prompt and deadline are
//     recorded first. The first answer in a goal counts, also if it comes twice or after a
//     restart. A missed deadline or a rejection is a failure like any other.
//   - Unknown is not empty: nothing is stopped or deleted because a question was not
//     answered.
//
// A Machine hands each event to the part whose concern it is: goals, secrets, image pulls, the run
// that is applied (approvals, jobs, services, plugins), its undoing, and the upkeep of a ready
// deployment. phases.go has the tables of the phases, of the steps, and of the flags that are legal
// in each.
package engine
