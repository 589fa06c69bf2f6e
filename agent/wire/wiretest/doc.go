// Package wiretest lets tests stand on either end of the wire without a
// network: a pair of connected sessions, and an agent that follows a script.
//
// Nothing is faked below the messages. TLS, both pins and the token's proof run
// as in production, over net.Pipe by default, so that a testing/synctest bubble
// can hold all of it and hours pass at once. It is for tests only.
package wiretest
