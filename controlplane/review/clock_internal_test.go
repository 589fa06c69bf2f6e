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

// However clocks are set, what is daily happens once on each day, in order, and at its time unless
// the clocks never show that.
func TestClock_OnceADay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago",
		"Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo", "Asia/Beirut", "Pacific/Chatham"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"00:00", "00:30", "01:59", "02:00", "02:15", "02:45", "03:00",
			"23:59"} {
			clock, err := parseClock(text)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, zone).Add(-time.Second)
			for day := range 730 {
				next := clock.nextTime(at, zone)
				want := time.Date(2026, 1, 1+day, 12, 0, 0, 0, time.UTC)
				wall := time.Date(next.Year(), next.Month(), next.Day(), next.Hour(), next.Minute(), 0, 0,
					time.UTC)
				due, _ := time.Parse("2006-01-02 15:04", want.Format(time.DateOnly)+" "+text)
				late := wall.Sub(due)
				if !next.After(at) || late < 0 || late > time.Hour {
					t.Fatalf("%s in %s comes at %s, %s after what the clocks should show", text, name, next,
						late)
				}
				at = next
			}
		}
	}
}

// A month without the day has none of it, and what the same clock shows earlier comes first.
func TestClock_KeepsTheOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, zone, after string
		want              []string
	}{
		{"0 3 31 * *", "UTC", "2026-08-31T03:00:00Z", []string{"2026-10-31T03:00:00Z",
			"2026-12-31T03:00:00Z", "2027-01-31T03:00:00Z", "2027-03-31T03:00:00Z"}},
		// At 2:00, clocks are set forward by half an hour: 2:15 is never shown.
		{"15,30 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z", "2026-10-04T15:15:00Z"}},
		{"30 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"}},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.Parse(time.RFC3339, c.after)
		clock, err := parseClock(c.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			at = clock.nextTime(at, zone)
			if got := at.UTC().Format(time.RFC3339); got != want {
				t.Errorf("%s in %s: %s, want %s", c.text, c.zone, got, want)
			}
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
