package registry

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"": 30 * time.Second, "soon": 30 * time.Second, "-5": 30 * time.Second, "0": time.Second,
		"17": 17 * time.Second, " 17 ": 17 * time.Second, "3600": time.Hour, "3601": time.Hour,
		// Times a second, these are more nanoseconds than a number holds.
		"9223372037": time.Hour, "18446744074": time.Hour, "9223372036854775807": time.Hour,
		"99999999999999999999999":                                     time.Hour,
		"Mon, 02 Jan 2006 15:04:05 GMT":                               time.Second,
		time.Now().Add(1e6 * time.Hour).UTC().Format(http.TimeFormat): time.Hour,
	} {
		if got := retryAfter(value); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

// A host that tells ever new accounts to wait does not fill the memory.
func TestHonour_Bounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	c := New(Config{Now: func() time.Time { return now }})
	t.Cleanup(c.Close)
	for i := range maxCached + 50 {
		c.recordPause("x.test", controlplane.Credentials{Username: fmt.Sprint(i)}, time.Minute)
	}
	if len(c.pauses) > maxCached {
		t.Errorf("%d pauses", len(c.pauses))
	}
	now = now.Add(2 * time.Minute)
	c.recordPause("x.test", controlplane.Credentials{}, time.Minute)
	if len(c.pauses) != 1 {
		t.Errorf("%d pauses that are over", len(c.pauses)-1)
	}
}
