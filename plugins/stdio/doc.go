// Package stdio is the plugin contract, version 1: one JSON object on stdin,
// one JSON object on stdout, the log on stderr, exit code 0 for success.
//
// Both ends live here, so that they cannot drift apart. A plugin written in Go
// calls [Main]; the agent calls [WriteRequest] and [DecodeResponse]. A plugin
// in any other language reads and writes the same two objects and needs
// nothing of ours.
//
// The two directions are not equally trusting. A plugin may believe what it
// reads: the agent wrote it. The agent believes nothing: what a plugin prints
// is read by [DecodeResponse], which accepts one small, well-formed, unambiguous
// object and otherwise says in one sentence what is wrong. It never guesses,
// never takes a part of an answer, and never reads more than [MaxResponse].
//
// The package uses the standard library only, so that a plugin which imports
// it stays small.
package stdio
