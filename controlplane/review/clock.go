package review

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clock says at which minutes something happens: one bit for each value, as in the fields of cron.
type clock struct {
	minutes, hours, days, months, weekdays uint64
	// anyDay and anyWeekday are set where the field is a star. If neither is, one of the two
	// has to match, as in cron.
	anyDay, anyWeekday bool
}

// mostAnHour is how often an hour something may happen.
const mostAnHour = 4

var (
	weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	monthNames   = []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct",
		"nov", "dec"}
)

// parseClock reads "02:30", "mon-fri 02:30", or the five fields of cron.
func parseClock(text string) (c clock, err error) {
	fields := strings.Fields(strings.ToLower(text))
	if len(fields) == 1 {
		fields = append([]string{"*"}, fields...)
	}
	if len(fields) == 2 {
		at, err := time.Parse("15:04", fields[1])
		if err != nil {
			return c, fmt.Errorf("%q is no time of a day", fields[1])
		}
		fields = []string{strconv.Itoa(at.Minute()), strconv.Itoa(at.Hour()), "*", "*", fields[0]}
	}
	if len(fields) != 5 {
		return c, fmt.Errorf("it has %d fields", len(fields))
	}
	for i, f := range []struct {
		name      string
		low, high int
		names     []string
		to        *uint64
	}{{"minute", 0, 59, nil, &c.minutes}, {"hour", 0, 23, nil, &c.hours},
		{"day", 1, 31, nil, &c.days}, {"month", 1, 12, monthNames, &c.months},
		{"weekday", 0, 7, weekdayNames, &c.weekdays}} {
		if *f.to, err = parseField(fields[i], f.low, f.high, f.names); err != nil {
			return c, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	c.weekdays |= c.weekdays >> 7 & 1 // 7 is Sunday too
	c.anyDay, c.anyWeekday = fields[2] == "*", fields[4] == "*"
	if bits.OnesCount64(c.minutes) > mostAnHour {
		return c, fmt.Errorf("it happens more than %d times an hour", mostAnHour)
	}
	return c, nil
}

// parseField reads one field of cron: "*", "*/15", "1-5", "mon,wed", and their lists.
func parseField(text string, low, high int, names []string) (set uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		by := 1
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 || by > high {
				return 0, fmt.Errorf("%q is no step", step)
			}
		}
		first, last := low, high
		if span != "*" {
			from, to, ranged := strings.Cut(span, "-")
			if first, err = parseValue(from, names); err != nil {
				return 0, err
			}
			if last = first; ranged {
				if last, err = parseValue(to, names); err != nil {
					return 0, err
				}
			} else if stepped {
				last = high
			}
		}
		if first < low || last > high || first > last {
			return 0, fmt.Errorf("%q is not within %d and %d", span, low, high)
		}
		for v := first; v <= last; v += by {
			set |= 1 << v
		}
	}
	return set, nil
}

func parseValue(text string, names []string) (int, error) {
	if n := slices.Index(names, text); n >= 0 && text != "" {
		return n, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return n, nil
}

func (c clock) isOnDay(day time.Time) bool {
	on := c.days>>day.Day()&1 == 1
	week := c.weekdays>>int(day.Weekday())&1 == 1
	if !c.anyDay && !c.anyWeekday {
		on = on || week
	} else {
		on = on && week
	}
	return on && c.months>>int(day.Month())&1 == 1
}

// farthest is how many days ahead a time is looked for: a leap day may be eight years away.
const farthest = 9 * 366

// nextTime returns the first time after another one; zero if there is none, as on February 30.
// Where clocks are set forward, what is skipped happens when it would have, had they not been
// set. What comes twice where they are set back happens once.
func (c clock) nextTime(after time.Time, zone *time.Location) time.Time {
	local := after.In(zone)
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	for range farthest {
		if c.isOnDay(day) {
			if first := c.firstOnDay(day, after, zone); !first.IsZero() {
				return first
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}
}

// firstOnDay returns the first time of a day after another one; zero if there is none. What the
// clocks skip may come after what they show later.
func (c clock) firstOnDay(day, after time.Time, zone *time.Location) (first time.Time) {
	for hour := range 24 {
		for minute := range 60 {
			if c.hours>>hour&1 == 0 || c.minutes>>minute&1 == 0 {
				continue
			}
			at := onWall(day, hour, minute, zone)
			if at.After(after) && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}

// onWall is when the clocks of a zone show a time; the first time if they show it twice.
func onWall(day time.Time, hour, minute int, zone *time.Location) time.Time {
	wall := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	// The offset of the night before holds until clocks are set.
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	for _, offset := range []int{before, after} {
		at := wall.Add(-time.Duration(offset) * time.Second)
		if _, now := at.In(zone).Zone(); now == offset {
			return at.In(zone)
		}
	}
	return wall.Add(-time.Duration(before) * time.Second).In(zone)
}
