// Package release holds which build a service of the shop is. All tags of a
// service hold the same program; a small file beside it makes the difference,
// as a feature flag file would.
package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Path is where the image keeps the file.
const Path = "/etc/shop/release.json"

// Info is what the file says. Missing fields mean a build by hand.
type Info struct {
	Version  string   `json:"version"`
	Revision string   `json:"revision"`
	Branch   string   `json:"branch"`
	Features []string `json:"features"`
}

// Read reads the file; without one the build calls itself "dev".
func Read(path string) (Info, error) {
	info := Info{Version: "dev"}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return info, nil
	}
	if err != nil {
		return info, fmt.Errorf("read the release file: %w", err)
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, fmt.Errorf("read the release file %s: %w", path, err)
	}
	return info, nil
}

// Has says whether the build has the feature.
func (i Info) Has(feature string) bool { return slices.Contains(i.Features, feature) }
