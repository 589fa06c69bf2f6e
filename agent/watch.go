package agent

import (
	"context"
	"reflect"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

const (
	// inventoryWithin bounds one look at the node, with all its tools.
	inventoryWithin = 30 * time.Second
	// probeAfter lets an agent that starts do first what people wait for.
	probeAfter = 10 * time.Second
	// probeLook is how soon a restart of the engine is noticed.
	probeLook = 5 * time.Second
)

// Prober is a Runtime whose engine may lose the isolation of deployments while
// it runs. Not every one can: the agent asks with a type assertion.
type Prober interface {
	// ProbeIsolation tries whether networks reach each other. It takes seconds
	// and leaves nothing behind.
	ProbeIsolation(ctx context.Context) wire.Check
	// Restarts grows when the engine may have started anew.
	Restarts() int64
}

// inventory is what the node is, as last seen. It is replaced, never changed.
type inventory struct {
	// version grows with each difference.
	version   int64
	seen      wire.Inventory
	isolation *wire.Check
}

// look describes the node anew. What the engine cannot tell now is left out,
// and said.
func (a *Agent) look(ctx context.Context) (wire.Inventory, int64) {
	seen, err := a.runtime.Inventory(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		seen = withoutEngine(a.inventory.seen, err)
	}
	seen.Checks = append(seen.Checks, a.disk.check(time.Now(), a.config.Data))
	if a.inventory.isolation != nil {
		seen.Checks = append(seen.Checks, *a.inventory.isolation)
	}
	seen.Plugins = a.inventory.seen.Plugins
	if !reflect.DeepEqual(seen, a.inventory.seen) {
		a.inventory.seen = seen
		a.inventory.version++
	}
	return seen, a.inventory.version
}

// withoutEngine is what is known of the node while the engine does not answer:
// its size does not change because of that, and nothing else can be checked.
func withoutEngine(before wire.Inventory, err error) wire.Inventory {
	before.Warnings = []string{"the container engine does not answer: " + err.Error()}
	before.Checks = []wire.Check{{ID: wire.CheckEngine, Severity: wire.SeverityCritical,
		Detail: "The container engine does not answer: what runs goes on and is in reach, and " +
			"nothing is started or removed until the engine answers.",
		Remedy: "Start the engine on the machine, for example with 'systemctl start docker'; " +
			"'journalctl -u docker' has the reason why it ended."}}
	return before
}

// watchNode sees changes of the node that nobody announces: a card, a disk, an
// engine's new release, a firewall's rules.
func (a *Agent) watchNode(ctx context.Context) error {
	tick := time.NewTicker(a.config.InventoryEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-a.lookAgain:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		within, cancel := context.WithTimeout(ctx, inventoryWithin)
		a.look(within)
		cancel()
	}
}

// watchIsolation tries the isolation at the beginning, regularly, and when the
// engine has started anew (threats.md, T26).
func (a *Agent) watchIsolation(ctx context.Context) error {
	prober, able := a.runtime.(Prober)
	if !able {
		return nil
	}
	if a.config.ProbeEvery < 0 {
		a.takeIsolation(wire.Check{ID: "isolation", Severity: wire.SeverityWarning,
			Detail: "Nobody tries whether deployments are isolated: the setting agent.probe is 0s.",
			Remedy: "Set agent.probe to how often it should be tried, such as 10m."})
		return nil
	}
	if !pause(ctx, min(probeAfter, a.config.ProbeEvery)) {
		return context.Cause(ctx)
	}
	for {
		restarts, began := prober.Restarts(), time.Now()
		a.takeIsolation(prober.ProbeIsolation(ctx))
		for time.Since(began) < a.config.ProbeEvery && prober.Restarts() == restarts {
			if !pause(ctx, min(probeLook, a.config.ProbeEvery)) {
				return context.Cause(ctx)
			}
		}
	}
}

// takeIsolation keeps what a probe found. One that could not be made does not
// take back that the isolation was lost.
func (a *Agent) takeIsolation(found wire.Check) {
	a.mu.Lock()
	before := a.inventory.isolation
	lost := before != nil && before.Severity == wire.SeverityCritical
	if !lost || found.Severity != wire.SeverityUnknown {
		a.inventory.isolation = &found
	}
	a.mu.Unlock()
	if found.Severity == wire.SeverityCritical {
		a.log.Error("deployments are not isolated from each other", "found", found.Detail)
	}
	select {
	case a.lookAgain <- struct{}{}:
	default:
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
