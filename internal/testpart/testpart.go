// Package testpart chooses which part of a slow suite of tests a run has: a quarter of it, another
// one each day, so that four days have run all of it. `make test` sets NULLOPS_TEST_PART, and says
// at its end which part it was; without that variable, everything runs.
package testpart

import (
	"fmt"
	"os"
	"strconv"
)

// Parts is how many runs have the whole suite between them.
const Parts = 4

// Pick returns those of the items that belong to this run, in their order.
func Pick[T any](items []T) ([]T, error) {
	value := os.Getenv("NULLOPS_TEST_PART")
	if value == "" || value == "all" {
		return items, nil
	}
	part, err := strconv.Atoi(value)
	if err != nil || part < 1 || part > Parts {
		return nil, fmt.Errorf("NULLOPS_TEST_PART is %q: set it to 1 to %d, or to all", value, Parts)
	}
	var picked []T
	for i := part - 1; i < len(items); i += Parts {
		picked = append(picked, items[i])
	}
	return picked, nil
}
