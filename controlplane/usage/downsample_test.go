package usage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/usage"
	"github.com/nullops/nullops/pipeline"
)

func genUse(t *rapid.T, start time.Time) controlplane.UsageSum {
	return controlplane.UsageSum{
		Subject: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "subject"),
		Step:    rapid.SampledFrom([]pipeline.StepKey{"", "web"}).Draw(t, "step"),
		At:      start.Add(time.Duration(rapid.IntRange(0, 4*3600).Draw(t, "second")) * time.Second),
		Count:   1, CPU: rapid.Float64Range(0, 64).Draw(t, "cpu"),
		CPUMax:    rapid.Float64Range(0, 64).Draw(t, "max"),
		Memory:    float64(rapid.IntRange(0, 1<<30).Draw(t, "memory")),
		MemoryMax: rapid.Int64Range(0, 1<<30).Draw(t, "memory max"),
		DiskFree:  rapid.Int64Range(0, 1<<40).Draw(t, "disk"),
	}
}

// Nothing gets lost or doubled on the way to minutes and hours, the way there
// does not matter, each stretch of time is there once, and peaks stay peaks.
func TestDownsample_KeepsSumsAndPeaks(t *testing.T) {
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	near := cmpopts.EquateApprox(1e-9, 1e-6)
	rapid.Check(t, func(t *rapid.T) {
		var all []controlplane.UsageSum
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			all = append(all, genUse(t, start))
		}
		minutes := usage.Downsample(all, usage.Minutely)
		hours := usage.Downsample(all, usage.Hourly)
		if diff := cmp.Diff(hours, usage.Downsample(minutes, usage.Hourly), near); diff != "" {
			t.Fatalf("by way of minutes:\n%s", diff)
		}
		count, cpu, peak := 0, 0.0, 0.0
		for _, u := range all {
			count, cpu, peak = count+u.Count, cpu+u.CPU, max(peak, u.CPUMax)
		}
		seen := map[[3]string]bool{}
		for _, u := range minutes {
			count, cpu = count-u.Count, cpu-u.CPU
			k := [3]string{u.Subject, string(u.Step), u.At.String()}
			if seen[k] || u.At.Second() != 0 || u.Width != usage.Minutely || u.CPUMax > peak {
				t.Fatalf("minute %+v", u)
			}
			seen[k] = true
		}
		if count != 0 || cpu > 1e-6 || cpu < -1e-6 {
			t.Fatalf("%d measurements and %f of CPU are lost", count, cpu)
		}
	})
}

// Rules go from fine to coarse and from short to long, and single measurements
// outlive what agents keep.
func TestRules(t *testing.T) {
	now := time.Now()
	rules := usage.Rules()
	if rules[0].Keep <= time.Hour {
		t.Error("measurements that come late would be deleted at once")
	}
	for i, r := range rules[1:] {
		if r.Width <= rules[i].Width || r.Keep <= rules[i].Keep ||
			!r.Cutoff(now).Before(rules[i].Cutoff(now)) {
			t.Errorf("rule %+v after %+v", r, rules[i])
		}
	}
}
