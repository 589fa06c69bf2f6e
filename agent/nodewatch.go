package agent

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
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

// nodeInventory looks at the node, and knows what the control plane should know of it.
type nodeInventory struct {
	*base
	// lookAgain wakes watchNode.
	lookAgain chan struct{}
	disk      diskWatch
	mu        sync.Mutex
	inventory inventory
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
func (iv *nodeInventory) inspectNode(ctx context.Context) (wire.Inventory, int64) {
	seen, err := iv.runtime.Inventory(ctx)
	iv.mu.Lock()
	defer iv.mu.Unlock()
	if err != nil {
		seen = withoutEngine(iv.inventory.seen, err)
	}
	seen.Checks = append(seen.Checks, iv.disk.writeCheck(time.Now(), iv.config.Data))
	if iv.inventory.isolation != nil {
		seen.Checks = append(seen.Checks, *iv.inventory.isolation)
	}
	if c, found := damageCheck(iv.config.Data); found {
		seen.Checks = append(seen.Checks, c)
	}
	seen.Plugins = iv.inventory.seen.Plugins
	if !reflect.DeepEqual(seen, iv.inventory.seen) {
		iv.inventory.seen = seen
		iv.inventory.version++
	}
	return seen, iv.inventory.version
}

// damageCheck is there while files that were put aside are in the data folder.
func damageCheck(dir string) (c wire.Check, found bool) {
	files, err := durable.FindDamaged(dir)
	if err != nil || len(files) == 0 {
		return c, false
	}
	return wire.Check{ID: "data-folder", Severity: wire.SeverityWarning,
		Detail: "Files of the agent were damaged and put aside: " + strings.Join(files, ", ") +
			". The agent's log says what was wrong with each.",
		Remedy: "Check the disk of " + dir + ", for example with 'smartctl -a' and 'dmesg'; then " +
			"remove these files."}, true
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
func (iv *nodeInventory) watchNode(ctx context.Context) error {
	tick := time.NewTicker(iv.config.InventoryEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-iv.lookAgain:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		within, cancel := context.WithTimeout(ctx, inventoryTimeout)
		iv.inspectNode(within)
		cancel()
	}
}

// watchIsolation tests the isolation at start, regularly, and after the engine was
// restarted.
func (iv *nodeInventory) watchIsolation(ctx context.Context) error {
	prober, able := iv.runtime.(Prober)
	if !able {
		return nil
	}
	if iv.config.ProbeEvery < 0 {
		iv.updateIsolationCheck(wire.Check{ID: "isolation", Severity: wire.SeverityWarning,
			Detail: "Nobody tries whether deployments are isolated: the setting agent.probe is 0s.",
			Remedy: "Set agent.probe to how often it should be tried, such as 10m."})
		return nil
	}
	if wait.Sleep(ctx, min(isolationProbeDelay, iv.config.ProbeEvery)) != nil {
		return context.Cause(ctx)
	}
	for {
		restarts, began := prober.CountRestarts(), time.Now()
		iv.updateIsolationCheck(prober.ProbeIsolation(ctx))
		for time.Since(began) < iv.config.ProbeEvery && prober.CountRestarts() == restarts {
			if wait.Sleep(ctx, min(probeLook, iv.config.ProbeEvery)) != nil {
				return context.Cause(ctx)
			}
		}
	}
}

// updateIsolationCheck stores the result of an isolation probe. A probe without a result
// does not replace a failed one.
func (iv *nodeInventory) updateIsolationCheck(found wire.Check) {
	iv.mu.Lock()
	before := iv.inventory.isolation
	lost := before != nil && before.Severity == wire.SeverityCritical
	if !lost || found.Severity != wire.SeverityUnknown {
		iv.inventory.isolation = &found
	}
	iv.mu.Unlock()
	if found.Severity == wire.SeverityCritical {
		iv.log.Error("deployments are not isolated from each other", "detail", found.Detail)
	}
	select {
	case iv.lookAgain <- struct{}{}:
	default:
	}
}
