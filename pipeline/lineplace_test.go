package pipeline_test

import (
	"testing"

	"github.com/nullops/nullops/pipeline"
)

func TestPlaceOfLine_CountsInEachAttempt(t *testing.T) {
	for number, want := range map[int64]string{
		1: "line 1", 1 << 20: "line 1048576", 1<<20 + 1: "attempt 2, line 1",
		8388608: "attempt 8, line 1048576", 8388609: "undo, line 1",
		9<<20 + 12: "undo, attempt 2, line 12",
	} {
		place := pipeline.PlaceOfLine(number)
		if got := place.String(); got != want || place.Number() != number {
			t.Errorf("%d is %q with number %d, want %q", number, got, place.Number(), want)
		}
	}
}
