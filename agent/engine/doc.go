// Package engine decides what an agent does for one deployment, and does none
// of it.
//
// A Machine is fed events (a goal, the end of an operation, a listing, the
// passing of time) and answers with effects (records to journal, reports to
// send, operations to start). It has no goroutine, no clock, no randomness and
// no I/O, and what it does depends on nothing but its events. So a simulator
// can try thousands of crashes, and a journal can be replayed.
//
// What the shell around it owes:
//
//   - All Record and Report effects of one Step are on disk, together or not at
//     all, before any other effect of that Step is done.
//   - Every Do ends with exactly one Ended, also after a Cancel, and soon then.
//   - After a crash the machine is rebuilt with Replay from its records, and is
//     told Restarted. Operations from before the crash are forgotten; no Ended
//     of theirs may come.
//   - A listing that failed is not an event.
//
// What it promises in return:
//
//   - Steps run one at a time, in the stored order, each after all before it
//     are done. Images are pulled ahead, and the next plugin's container is
//     created ahead; neither has an effect outside the container engine.
//   - The intent is recorded before the effect. A step whose outcome is not
//     known is run again only if it is idempotent; otherwise the run fails, and
//     the step is undone like one that was done.
//   - After a failure or a cancel, no step starts any more, and everything that
//     was started is undone in reverse order, whatever fails on the way. What
//     could not be undone is listed, and tried again on the next goal.
//   - An approval waits for a person without holding anything. Its question and
//     its deadline are recorded first; the first answer a goal brings counts,
//     also when it comes twice or after a restart. No answer by the deadline, or
//     a rejection, is a failure like any other.
//   - Unknown is not empty: nothing is stopped or deleted because somebody
//     could not be asked.
package engine
