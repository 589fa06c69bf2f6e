package dockertest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// LeakScan is everything a scan for leaks saw, by a name that says what it is.
type LeakScan map[string]struct{}

// ScanForLeaks lists an engine's containers (in every state), networks and volumes, and the entries
// of folders. With an installation it lists only objects with its label. Without one it
// lists everything, which also finds objects that lost their label, on an engine that no
// other test uses.
func ScanForLeaks(ctx context.Context, host, install string, folders ...string) (LeakScan, error) {
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, err
	}
	defer func() { _ = api.Close() }()
	filter := client.Filters{}
	if install != "" {
		filter = filter.Add("label", "nullops.install="+install)
	}
	w := LeakScan{}
	containers, err := api.ContainerList(ctx,
		client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range containers.Items {
		w.addObject("container", strings.Join(c.Names, " "), c.ID)
	}
	networks, err := api.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	for _, n := range networks.Items {
		w.addObject("network", n.Name, networkID(n))
	}
	volumes, err := api.VolumeList(ctx, client.VolumeListOptions{Filters: filter})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	for _, v := range volumes.Items {
		w.addObject("volume", v.Name, "")
	}
	return w, w.addFolders(folders)
}

func (w LeakScan) addObject(kind, name, id string) {
	w[strings.TrimSpace(kind+" "+name+" "+id)] = struct{}{}
}

// addFolders adds the files and the empty folders below each folder.
func (w LeakScan) addFolders(folders []string) error {
	for _, root := range folders {
		err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			w.addObject("file", path, "")
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("look into %s: %w", root, err)
		}
	}
	return nil
}

// AddedSince returns what is there now and was not before, sorted.
func (w LeakScan) AddedSince(before LeakScan) []string {
	var leaks []string
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if _, known := before[name]; !known {
			leaks = append(leaks, name)
		}
	}
	return leaks
}

// networkID is empty for the engine's own networks, which get a new ID at every start.
func networkID(n network.Summary) string {
	switch n.Name {
	case "bridge", "host", "none":
		return ""
	}
	return n.ID
}
