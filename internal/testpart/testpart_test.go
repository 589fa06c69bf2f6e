package testpart_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/nullops/nullops/internal/testpart"
)

// All parts together are everything, each item once.
func TestPick(t *testing.T) {
	items := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	var together []int
	for part := 1; part <= testpart.Parts; part++ {
		t.Setenv("NULLOPS_TEST_PART", strconv.Itoa(part))
		picked, err := testpart.Pick(items)
		if err != nil || len(picked) < 2 || len(picked) > 3 {
			t.Errorf("part %d is %v, %v", part, picked, err)
		}
		together = append(together, picked...)
	}
	slices.Sort(together)
	if !slices.Equal(together, items) {
		t.Errorf("all parts are %v", together)
	}
	for _, whole := range []string{"", "all"} {
		t.Setenv("NULLOPS_TEST_PART", whole)
		if picked, err := testpart.Pick(items); err != nil || !slices.Equal(picked, items) {
			t.Errorf("%q is %v, %v", whole, picked, err)
		}
	}
	for _, wrong := range []string{"0", "5", "-1", "two"} {
		t.Setenv("NULLOPS_TEST_PART", wrong)
		if picked, err := testpart.Pick(items); err == nil {
			t.Errorf("%q is %v", wrong, picked)
		}
	}
}
