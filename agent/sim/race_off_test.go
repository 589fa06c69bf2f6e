//go:build !race

package sim_test

const worlds = 10_000
