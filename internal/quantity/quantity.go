// Package quantity words numbers for people: sizes, cores, spans of time and counts. Every sentence
// of the API, every line of the CLI and every status page takes its numbers from here, so that one
// thing reads the same everywhere. The UI has the same rules in components/quantity.ts; both are
// held to testdata/quantities.json.
package quantity

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// FormatBytes is a number of bytes in decimal units, as registries and disks have them: "512 B",
// "1.2 GB", "148 MB".
func FormatBytes[N int | int64 | float64](n N) string {
	value, unit := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB", "TB"} {
		if value < 999.5 {
			break
		}
		value, unit = value/1000, next
	}
	if value >= 9.95 || unit == "B" && value == math.Trunc(value) {
		return strconv.FormatFloat(value, 'f', 0, 64) + " " + unit
	}
	return formatTenths(value) + " " + unit
}

// formatTenths rounds halves up, as the UI does.
func formatTenths(n float64) string {
	return strconv.FormatFloat(math.Floor(n*10+0.5)/10, 'f', 1, 64)
}

// FormatMemory is FormatBytes of an amount that limits and requests have in MiB.
func FormatMemory(mib int) string { return FormatBytes(int64(mib) << 20) }

// FormatLimit is a limit in the unit in which its field is filled in, for sentences about that
// field: "512 MiB".
func FormatLimit(mib int) string { return strconv.Itoa(mib) + " MiB" }

// FormatNumber is a measured number with at most three digits that mean something: "6.25", "0.003",
// "148". Less than a ten-thousandth is noise.
func FormatNumber(n float64) string {
	n = math.Round(n*1e4) / 1e4
	if n == 0 {
		return "0"
	}
	places := max(0, 2-int(math.Floor(math.Log10(math.Abs(n)))))
	text := strconv.FormatFloat(n, 'f', places, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// FormatCores is an amount of processor: "1 core", "0.25 cores".
func FormatCores(n float64) string {
	if text := FormatNumber(n); text != "1" {
		return text + " cores"
	}
	return "1 core"
}

// FormatShare is how many cores of how many are used or promised: "2 of 6.25 cores, shared 4
// times".
// The second number includes how many times the cores are shared.
func FormatShare(used, total, times float64) string {
	text := FormatNumber(used) + " of " + FormatCores(total)
	if times > 0 && times != 1 {
		text += ", shared " + FormatNumber(times) + " times"
	}
	return text
}

// FormatPercent is a share as a whole number of hundredths, "83 %", and "<1 %" for what is little
// but not nothing.
func FormatPercent(share float64) string {
	if share > 0 && share < 0.01 {
		return "<1 %"
	}
	return strconv.FormatFloat(100*share, 'f', 0, 64) + " %"
}

// FormatCount is a number of things: "1 run", "3 runs".
func FormatCount(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// Units of time, the largest first.
var units = []struct {
	size      time.Duration
	one, many string
	short     string
}{
	{24 * time.Hour, "day", "days", "d"},
	{time.Hour, "hour", "hours", "h"},
	{time.Minute, "minute", "minutes", "min"},
	{time.Second, "second", "seconds", "s"},
}

// tenthsBelow is below which tenths of a second are shown.
const tenthsBelow = 9950 * time.Millisecond

// FormatDuration is a span of time for a sentence, in at most two units: "3 minutes",
// "1 minute 30 seconds", "0.4 seconds".
func FormatDuration(d time.Duration) string {
	d = max(d, 0)
	if d < tenthsBelow && d%time.Second != 0 {
		return formatTenths(d.Seconds()) + " seconds"
	}
	d = d.Round(time.Second)
	i := largestUnit(d)
	whole := d / units[i].size
	text := FormatCount(int(whole), units[i].one, units[i].many)
	if i+1 == len(units) {
		return text
	}
	if rest := (d - whole*units[i].size) / units[i+1].size; rest > 0 {
		text += " " + FormatCount(int(rest), units[i+1].one, units[i+1].many)
	}
	return text
}

// FormatAhead is about how long something will take, in one unit: "a minute", "44 minutes",
// "3 hours".
func FormatAhead(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return "a minute"
	case d < 2*time.Hour:
		return FormatCount(int(d/time.Minute), "minute", "minutes")
	case d < 48*time.Hour:
		return FormatCount(int(d/time.Hour), "hour", "hours")
	}
	return FormatCount(int(d/(24*time.Hour)), "day", "days")
}

// FormatElapsed is how long something took, for tables: "0.9 s", "38 s", "1 min 40 s".
func FormatElapsed(d time.Duration) string {
	d = max(d, 0)
	if d < tenthsBelow {
		return formatTenths(d.Seconds()) + " s"
	}
	d = d.Round(time.Second)
	i := largestUnit(d)
	whole := d / units[i].size
	text := strconv.Itoa(int(whole)) + " " + units[i].short
	if i+1 == len(units) {
		return text
	}
	if rest := (d - whole*units[i].size) / units[i+1].size; rest > 0 {
		text += " " + strconv.Itoa(int(rest)) + " " + units[i+1].short
	}
	return text
}

func largestUnit(d time.Duration) int {
	for i, u := range units {
		if d >= u.size {
			return i
		}
	}
	return len(units) - 1
}

// FormatSpan is an age for tables, in one unit: "12 s", "3 min", "5 h", "2 d".
func FormatSpan(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " d"
}
