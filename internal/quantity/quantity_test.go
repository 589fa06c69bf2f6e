package quantity_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/nullops/nullops/internal/quantity"
)

// What the UI shows of the same number is in the same file; components/quantity.test.ts reads it.
func TestQuantities_AreThoseOfTheUI(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/quantities.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][][2]any
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatal(err)
	}
	for kind, format := range map[string]func(float64) string{
		"bytes":    quantity.FormatBytes[float64],
		"numbers":  quantity.FormatNumber,
		"percents": quantity.FormatPercent,
		"elapsed": func(ms float64) string {
			return quantity.FormatElapsed(time.Duration(ms) * time.Millisecond)
		},
	} {
		if len(all[kind]) < 5 {
			t.Errorf("only %d samples of %s", len(all[kind]), kind)
		}
		for _, sample := range all[kind] {
			if got := format(sample[0].(float64)); got != sample[1] {
				t.Errorf("%s of %v is %q, want %q", kind, sample[0], got, sample[1])
			}
		}
	}
}

func TestQuantities_InSentences(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"2 of 6.25 cores, shared 4 times": quantity.FormatShare(2, 6.25, 4),
		"1 of 2 cores":                    quantity.FormatShare(1, 2, 1),
		"1 core":                          quantity.FormatCores(1),
		"0.25 cores":                      quantity.FormatCores(0.25),
		"537 MB":                          quantity.FormatMemory(512),
		"512 MiB":                         quantity.FormatLimit(512),
		"83 %":                            quantity.FormatPercent(0.83),
		"1 run":                           quantity.FormatCount(1, "run", "runs"),
		"0 runs":                          quantity.FormatCount(0, "run", "runs"),
		"3 minutes":                       quantity.FormatDuration(3 * time.Minute),
		"1 minute 30 seconds":             quantity.FormatDuration(90 * time.Second),
		"1 hour":                          quantity.FormatDuration(time.Hour + time.Second),
		"0.4 seconds":                     quantity.FormatDuration(400 * time.Millisecond),
		"1 second":                        quantity.FormatDuration(time.Second),
		"0 seconds":                       quantity.FormatDuration(-time.Second),
		"a minute":                        quantity.FormatAhead(time.Second),
		"44 minutes":                      quantity.FormatAhead(44*time.Minute + time.Second),
		"2 days":                          quantity.FormatAhead(50 * time.Hour),
		"12 s":                            quantity.FormatSpan(12 * time.Second),
		"47 h":                            quantity.FormatSpan(47 * time.Hour),
		"2 d":                             quantity.FormatSpan(48 * time.Hour),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
