// Package sim tries an agent's decisions in thousands of unlucky worlds.
//
// One seed is one world: an agent whose process dies at any moment, a disk that
// is slow or refuses, a container engine that loses answers, freezes and
// restarts, strangers who remove what is not theirs, a link that is cut or
// half-open, people who create, cancel, retry and delete. All of it is one
// goroutine, one queue of virtual time, and one source of chance, so the same
// seed is the same world, to the last step of its trace.
//
// What is tried is package engine as it is. What is around it in package agent
// (journal, outbox, inbox, sessions) is modelled here after the promises that
// package agent makes; its own tests hold it to them.
//
// While things go wrong, what must never happen is checked at each step. Then
// everything heals, and the world has to settle: every deployment ready or
// gone without a trace, and the control plane knowing it.
package sim
