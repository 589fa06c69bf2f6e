package usage

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/agent/sim"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// worldsOfLedger is how many simulated worlds the ledger is kept for; each takes a millisecond.
const worldsOfLedger = 200

// keptLedger is a ledger whose writer is killed at any time: what it had not committed is lost,
// and everything else is there.
type keptLedger struct {
	open   map[controlplane.DeploymentID]controlplane.OpenAllocation
	outbox []controlplane.AllocationEvent
	rows   []controlplane.LedgerRow
}

// write is what a transaction of the writer does; the ledger stays as it was if it is killed.
func (k *keptLedger) write(now time.Time, most int, killed bool) {
	events := k.outbox[:min(most, len(k.outbox))]
	b := newLedgerBook(slices.Collect(maps.Values(k.open)))
	for _, e := range events {
		b.apply(e)
	}
	for id, o := range b.open {
		if o.Since.Before(startOfDay(now)) {
			b.cut(id, startOfDay(now))
		}
	}
	if killed {
		return
	}
	k.outbox = k.outbox[len(events):]
	k.rows = append(k.rows, b.rows...)
	k.open = map[controlplane.DeploymentID]controlplane.OpenAllocation{}
	for id, o := range b.open {
		k.open[id] = *o
	}
}

// balances are computed anew from the rows, by deployment and day.
func (k *keptLedger) balances(t rapid.TB) map[string]controlplane.UsageAmounts {
	sums := map[string]controlplane.UsageAmounts{}
	for _, r := range k.rows {
		if !r.Until.After(r.From) || r.Until.After(startOfDay(r.From).Add(24*time.Hour)) {
			t.Fatalf("row from %s until %s", r.From, r.Until)
		}
		key := balanceKey(r.Deployment, r.From)
		sums[key] = sums[key].Add(r.Amounts)
	}
	return sums
}

func balanceKey(id controlplane.DeploymentID, at time.Time) string {
	return string(id) + " " + at.UTC().Format(time.DateOnly)
}

// expectedBalances knows nothing of intervals: it looks at what each deployment holds, second
// by second.
func expectedBalances(
	events []controlplane.AllocationEvent, until time.Time,
) map[string]controlplane.UsageAmounts {
	sums := map[string]controlplane.UsageAmounts{}
	held := map[controlplane.DeploymentID]controlplane.AllocationEvent{}
	next := 0
	for at := events[0].At; at.Before(until); at = at.Add(time.Second) {
		for next < len(events) && !events[next].At.After(at) {
			held[events[next].Deployment] = events[next]
			next++
		}
		for id, e := range held {
			if e.Held {
				key := balanceKey(id, at)
				sums[key] = sums[key].Add(e.Allocation.AmountsOver(1))
			}
		}
	}
	return sums
}

// What agents and control planes go through when they are killed, cut off and started again, in
// worlds of the agent's simulator: however the ledger's writer dies in between, the balances
// that its rows come to are those that somebody finds who watched every second.
//
// promise: O-03
func TestLedger_RecomputesOverCrashSchedules(t *testing.T) {
	t.Parallel()
	rows := 0
	for seed := uint64(1); seed <= worldsOfLedger; seed++ {
		// Half an hour before midnight, so that days are cut.
		start := time.Date(2026, 11, 26, 23, 50, 0, 0, time.UTC)
		events := eventsOfWorld(seed, start)
		if len(events) == 0 {
			continue
		}
		chance := rand.New(rand.NewPCG(seed, 7))
		until := events[len(events)-1].At.Add(time.Minute)
		k := &keptLedger{}
		told := 0
		for now := start; now.Before(until); now = now.Add(15 * time.Second) {
			for ; told < len(events) && !events[told].At.After(now); told++ {
				k.outbox = append(k.outbox, events[told])
			}
			for range 1 + chance.IntN(2) {
				k.write(now, 1+chance.IntN(3), chance.IntN(3) == 0)
			}
		}
		k.outbox = append(k.outbox, events[told:]...)
		k.write(until, len(k.outbox), false)
		for id := range k.open {
			k.outbox = append(k.outbox, controlplane.AllocationEvent{At: until, Deployment: id})
		}
		k.write(until, len(k.outbox), false)
		want, got := expectedBalances(events, until), k.balances(t)
		if !maps.Equal(want, got) {
			t.Fatalf("seed %d:\nwant %v\ngot  %v\nevents %v", seed, want, got, events)
		}
		rows += len(k.rows)
	}
	if rows < worldsOfLedger {
		t.Errorf("only %d rows in %d worlds", rows, worldsOfLedger)
	}
}

// eventsOfWorld are the events that the database's trigger writes for the deployments of a
// simulated world: they hold what they have from the wish on until nothing is left.
func eventsOfWorld(seed uint64, start time.Time) (all []controlplane.AllocationEvent) {
	held := map[string]bool{}
	record := func(at time.Duration, id string, holds bool) {
		if held[id] == holds {
			return
		}
		held[id] = holds
		e := controlplane.AllocationEvent{ID: int64(len(all) + 1),
			At:         start.Add(at).Truncate(time.Second),
			Deployment: controlplane.DeploymentID(id), Held: holds}
		if holds {
			n := int64(len(all)%5 + 1)
			e.Allocation = controlplane.Allocation{Deployment: e.Deployment, Millicores: 250 * n,
				MemoryMiB: 64 * n, GPUs: n % 2, VolumeMiB: 10 * n}
		}
		all = append(all, e)
	}
	sim.Run(seed, sim.Options{Trace: func(line string) {
		when, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		at, err := time.ParseDuration(when + "s")
		if err != nil {
			panic(fmt.Sprintf("trace line %q", line))
		}
		words := strings.Fields(what)
		switch {
		case strings.HasPrefix(what, "person wants "):
			record(at, words[2], true)
		case words[0] == "status":
			gone := slices.Contains([]string{"canceled", "removed", "forgotten"}, words[2])
			record(at, words[1], !gone)
		}
	}})
	return all
}

// Any events, in any order of time, with cuts anywhere: nothing is counted twice, nothing is
// lost, and time that runs back takes nothing away.
func TestLedgerBook_CountsEachSecondOnce(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 2, 27, 20, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var events []controlplane.AllocationEvent
		at := start
		for i := range rapid.IntRange(1, 20).Draw(t, "events") {
			at = at.Add(time.Duration(rapid.IntRange(0, 4*3600).Draw(t, "gap")) * time.Second)
			id := controlplane.DeploymentID(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id"))
			e := controlplane.AllocationEvent{ID: int64(i), At: at, Deployment: id,
				Held: rapid.Bool().Draw(t, "held")}
			if e.Held {
				e.Allocation = controlplane.Allocation{Deployment: id,
					Millicores: rapid.Int64Range(0, 64000).Draw(t, "cpu"), MemoryMiB: 1}
			}
			events = append(events, e)
		}
		until := at.Add(time.Hour)
		k := &keptLedger{}
		for _, e := range events {
			k.outbox = append(k.outbox, e)
			k.write(e.At, 10, false)
			k.write(e.At.Add(-time.Hour), 10, false) // Nothing happens at a time that was.
		}
		for id := range k.open {
			k.outbox = append(k.outbox, controlplane.AllocationEvent{At: until, Deployment: id})
		}
		k.write(until, 10, false)
		want, got := expectedBalances(events, until), k.balances(t)
		maps.DeleteFunc(want, func(_ string, a controlplane.UsageAmounts) bool {
			return a == controlplane.UsageAmounts{}
		})
		if !maps.Equal(want, got) {
			t.Fatalf("want %v\ngot  %v", want, got)
		}
	})
}

// A clock that was set is told from one that runs, by the process that was there, and by one
// that only has the ledger; a jump that another replica has noted is not one more.
func TestClockLook_TellsSetFromRunning(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	here := time.Now()
	year := 365 * 24 * time.Hour
	looked := clockLook{wall: now, here: here}
	for name, c := range map[string]struct {
		look      clockLook
		clock     postgres.UsageClock
		wall, own time.Duration
		want      time.Duration
	}{
		"it runs":            {looked, postgres.UsageClock{At: now}, time.Hour, time.Hour, 0},
		"it runs a bit fast": {looked, postgres.UsageClock{At: now}, time.Hour, 55 * time.Minute, 0},
		"ten years ahead":    {looked, postgres.UsageClock{At: now}, 10 * year, 0, 10 * year},
		"and back again":     {looked, postgres.UsageClock{At: now}, -year, 0, -year},
		"another one noted it": {looked, postgres.UsageClock{At: now, SetBy: year},
			year + time.Minute, time.Minute, 0},
		"a restart":             {clockLook{}, postgres.UsageClock{At: now}, 5 * time.Hour, 0, 0},
		"a restart after weeks": {clockLook{}, postgres.UsageClock{At: now}, 10 * year, 0, 10 * year},
		"a restart, set back":   {clockLook{}, postgres.UsageClock{At: now}, -time.Hour, 0, -time.Hour},
	} {
		if got := c.look.compare(c.clock, now.Add(c.wall), here.Add(c.own)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
