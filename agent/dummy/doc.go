// Package dummy is a container engine made of knobs, for tests and for
// `nullops dev` on a machine without Docker.
//
// Objects are entries in a map; services answer on in-memory connections with
// what a handler says; plugins are functions. It keeps the contract of
// agent.Runtime, and passes the same suite as the real one. With its knobs it
// also sleeps, fails, loses answers and lies, on request.
package dummy
