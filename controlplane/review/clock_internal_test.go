package review

import (
	"testing"
	"time"
)

func TestClock_Next(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, zone, after, want string }{
		{"02:30", "UTC", "2026-11-27T02:29:59Z", "2026-11-27T02:30:00Z"},
		{"02:30", "UTC", "2026-11-27T02:30:00Z", "2026-11-28T02:30:00Z"},
		{"02:30", "Asia/Kolkata", "2026-11-27T00:00:00Z", "2026-11-27T21:00:00Z"},
		// November 27, 2026 is a Friday.
		{"mon-fri 22:00", "UTC", "2026-11-27T22:00:00Z", "2026-11-30T22:00:00Z"},
		{"sat,sun 6:05", "UTC", "2026-11-27T22:00:00Z", "2026-11-28T06:05:00Z"},
		{"30 2 * * 7", "UTC", "2026-11-27T22:00:00Z", "2026-11-29T02:30:00Z"},
		{"0 3 1,15 * *", "UTC", "2026-11-27T22:00:00Z", "2026-12-01T03:00:00Z"},
		{"0 3 1 * fri", "UTC", "2026-11-27T22:00:00Z", "2026-12-01T03:00:00Z"},
		{"*/15 8-10/2 * jan *", "UTC", "2026-11-27T22:00:00Z", "2027-01-01T08:00:00Z"},
		{"0 0 29 2 *", "UTC", "2026-11-27T22:00:00Z", "2028-02-29T00:00:00Z"},
		// Clocks are set forward on March 29, 2026 at 2:00, and back on October 25 at 3:00.
		{"02:30", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"},
		{"02:30", "Europe/Berlin", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"},
		{"02:30", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"02:30", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		// Where midnight is skipped, on September 6, 2026.
		{"00:00", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := time.Parse(time.RFC3339, c.after)
		clock, err := parseClock(c.text)
		got := clock.nextTime(after, zone)
		if err != nil || got.UTC().Format(time.RFC3339) != c.want {
			t.Errorf("%s in %s after %s: %s, want %s: %v", c.text, c.zone, c.after, got.UTC(), c.want,
				err)
		}
	}
}

func TestClock_Refuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "25:00", "2:3:4", "noon", "every 02:30", "* * * *",
		"0 2 * * * *", "60 2 * * *", "0 24 * * *", "0 2 0 * *", "0 2 * 13 *", "0 2 * * 8",
		"*/5 * * * *", "* 2 * * *", "0/0 2 * * *", "0 5-2 * * *", "0 2 * * fri-mon", "0 -2 * * *",
		"0,, 2 * * *"} {
		if c, err := parseClock(text); err == nil {
			t.Errorf("%q is read as %+v", text, c)
		}
	}
	if c, err := parseClock("0 0 30 2 *"); err != nil || !c.nextTime(time.Now(), time.UTC).IsZero() {
		t.Errorf("February 30 comes: %v", err)
	}
}

func FuzzClock(f *testing.F) {
	f.Add("*/15 8-10/2 * jan 1-5")
	f.Add("mon-fri 22:00")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseClock(text)
		if err != nil {
			return
		}
		now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
		if at := c.nextTime(now, time.UTC); !at.IsZero() && !at.After(now) {
			t.Errorf("%q comes at %s", text, at)
		}
	})
}
