//go:build race

package sim_test

// worlds are few here: the race detector makes each ten times as slow, and a
// world is one goroutine. tools/test.sh plays the whole number without it.
const worlds = 500
