package ingress

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/durable/durabletest"
)

var powerCuts = flag.Int("power-cuts", 1000, "how often the power is cut under the saved table")

// After a loss of power there is the table whose saving returned last, or the one that was being
// saved, and always a whole one.
func TestStore_KeepsAWholeTableThroughPowerCuts(t *testing.T) {
	root := durabletest.TempDir(t)
	for seed := range *powerCuts {
		if err := cutWhileSaving(rand.New(rand.NewPCG(uint64(seed), 0)),
			filepath.Join(root, fmt.Sprint(seed))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func cutWhileSaving(random *rand.Rand, dir string) error {
	if err := durable.MakeDir(durable.OS{}, dir, 0o700); err != nil {
		return err
	}
	disk, err := durabletest.New(dir)
	if err != nil {
		return err
	}
	disk.CutAfter(random.IntN(40), nil)
	tried, saved := uint64(0), uint64(0)
	for !disk.IsOff() {
		tried++
		if writeTable(disk, filepath.Join(dir, "routes"), tableOf(tried)) == nil {
			saved = tried
		}
	}
	after := dir + "-after"
	if err := disk.Survive(random, after); err != nil {
		return err
	}
	found, err := readTable(filepath.Join(after, "routes"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && saved == 0:
		return os.RemoveAll(dir)
	case err != nil:
		return err
	case found.Version() < saved || found.Version() > tried ||
		found.Len() != tableOf(found.Version()).Len():
		return fmt.Errorf("version %d with %d routes, and saved was %d", found.Version(), found.Len(),
			saved)
	}
	return os.RemoveAll(dir)
}

func tableOf(version uint64) *Table {
	routes := make([]Route, version%7*5)
	for i := range routes {
		routes[i] = Route{Host: fmt.Sprintf("web%d.shop.qa.localhost", i), DeploymentID: "d",
			Port: 80, Target: "d/web/80", NodeID: "n", State: StateReady}
	}
	return NewTable(version, routes)
}

// Whatever is changed in the saved table, an ingress never routes by it.
func TestStore_NeverRoutesByADamagedTable(t *testing.T) {
	file := filepath.Join(durabletest.TempDir(t), "routes")
	whole, err := durable.MarshalChecked(savedTable{Version: 3, Routes: tableOf(3).Routes()[:2]})
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range durabletest.Damages(whole) {
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readTable(file); !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
