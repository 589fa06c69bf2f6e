package agent

import (
	"context"
	"reflect"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// inventoryTimeout bounds one look at the node, with all its tools.
	inventoryTimeout = 30 * time.Second
	// isolationProbeDelay lets an agent that starts do first what people wait for.
	isolationProbeDelay = 10 * time.Second
	// probeLook is how soon a restart of the engine is noticed.
	probeLook = 5 * time.Second
)

// Prober is a Runtime whose engine may lose the isolation of deployments while
// it runs. Not every one can: the agent asks with a type assertion.
type Prober interface {
	// ProbeIsolation tests whether networks of different deployments can reach each other. It
	// takes seconds and removes everything it created.
	ProbeIsolation(ctx context.Context) wire.Check
	// Restarts is a counter that increases when the engine may have been restarted.
	CountRestarts() int64
}

// inventory is what the node is, as last seen. It is replaced, never changed.
type inventory struct {
	// version grows with each difference.
	version   int64
	seen      wire.Inventory
	isolation *wire.Check
}

// inspectNode reads the node's inventory again. If that fails, the facts from before stay, with a
// warning and a failed check.
func (a *Agent) inspectNode(ctx context.Context) (wire.Inventory, int64) {
	seen, err := a.runtime.Inventory(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		seen = withoutEngine(a.inventory.seen, err)
	}
	seen.Checks = append(seen.Checks, a.disk.writeCheck(time.Now(), a.config.Data))
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

// watchNode detects changes of the node that cause no event: a GPU, a disk, a new release
// of the engine, firewall rules.
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
		within, cancel := context.WithTimeout(ctx, inventoryTimeout)
		a.inspectNode(within)
		cancel()
	}
}

// watchIsolation tests the isolation at start, regularly, and after the engine was
// restarted.
func (a *Agent) watchIsolation(ctx context.Context) error {
	prober, able := a.runtime.(Prober)
	if !able {
		return nil
	}
	if a.config.ProbeEvery < 0 {
		a.updateIsolationCheck(wire.Check{ID: "isolation", Severity: wire.SeverityWarning,
			Detail: "Nobody tries whether deployments are isolated: the setting agent.probe is 0s.",
			Remedy: "Set agent.probe to how often it should be tried, such as 10m."})
		return nil
	}
	if wait.Sleep(ctx, min(isolationProbeDelay, a.config.ProbeEvery)) != nil {
		return context.Cause(ctx)
	}
	for {
		restarts, began := prober.CountRestarts(), time.Now()
		a.updateIsolationCheck(prober.ProbeIsolation(ctx))
		for time.Since(began) < a.config.ProbeEvery && prober.CountRestarts() == restarts {
			if wait.Sleep(ctx, min(probeLook, a.config.ProbeEvery)) != nil {
				return context.Cause(ctx)
			}
		}
	}
}

// updateIsolationCheck stores the result of an isolation probe. A probe without a result
// does not replace a failed one.
func (a *Agent) updateIsolationCheck(found wire.Check) {
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
