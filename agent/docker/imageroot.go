package docker

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/system"
)

const (
	// containerdSocket is where a containerd listens that the machine runs apart from the engine,
	// as packages of Docker have it; its folder and its configuration are where all have them.
	containerdSocket = "/run/containerd/containerd.sock"
	containerdRoot   = "/var/lib/containerd"
	containerdConfig = "/etc/containerd/config.toml"
)

// rootSetting is containerd's setting for its folder, which stands before any section.
var rootSetting = regexp.MustCompile(`(?m)^root\s*=\s*["']([^"'\n]+)["']`)

// keepsImagesInContainerd reports whether the engine has left images and containers' file systems
// to containerd, as new installations of Engine 29 do. The engine's own folder then has volumes,
// logs and settings only, and may be on another disk.
func keepsImagesInContainerd(i system.Info) bool {
	return slices.Contains(i.DriverStatus, [2]string{"driver-type", "io.containerd.snapshotter.v1"})
}

// findImageRoot returns where an engine on this machine keeps images and containers: its own
// folder, unless containerd has them.
func findImageRoot(i system.Info, config string) string {
	if !keepsImagesInContainerd(i) {
		return i.DockerRootDir
	}
	root := filepath.Join(i.DockerRootDir, "containerd", "daemon") // one that the engine started
	if i.Containerd != nil && strings.TrimPrefix(i.Containerd.Address, "/var") == containerdSocket {
		root = containerdRoot
		if text, err := os.ReadFile(config); err == nil {
			if m := rootSetting.FindSubmatch(text); m != nil {
				root = string(m[1])
			}
		}
	}
	if _, err := os.Stat(root); err != nil {
		return i.DockerRootDir
	}
	return root
}
