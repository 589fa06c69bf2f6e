// Contract compares the API's description with that of the last release and
// fails when a program written for the release would break, unless the version
// says so: a higher major one, or, below 1.0, a higher minor one.
//
//	tools/run contract docs/api/released.yaml controlplane/api/openapi.yaml
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if err := runContract(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

func runContract(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: contract RELEASED CURRENT")
	}
	released, err := loadSpec(args[0])
	if err != nil {
		return err
	}
	current, err := loadSpec(args[1])
	if err != nil {
		return err
	}
	broken := compareSpecs(released, current)
	announced, err := announcesBreak(released.Info.Version, current.Info.Version)
	if err != nil {
		return err
	}
	if len(broken) > 0 && !announced {
		return fmt.Errorf("FAILED: %d changes break programs written for release %s:\n  %s\n"+
			"Take them back, or raise info.version of the description to the next %s",
			len(broken), released.Info.Version, strings.Join(broken, "\n  "),
			requiredBump(released.Info.Version))
	}
	fmt.Printf("contract: OK: %d breaking changes between %s and %s\n", len(broken),
		released.Info.Version, current.Info.Version)
	return nil
}

func loadSpec(path string) (*openapi3.T, error) {
	spec, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if spec.Info == nil {
		return nil, fmt.Errorf("read %s: it has no info.version", path)
	}
	return spec, nil
}

// announcesBreak reports whether the newer version announces that something
// they rely on may be gone.
func announcesBreak(old, now string) (bool, error) {
	a, err := parseVersion(old)
	if err != nil {
		return false, err
	}
	b, err := parseVersion(now)
	if err != nil {
		return false, err
	}
	if a[0] == 0 && b[0] == 0 {
		return b[1] > a[1], nil
	}
	return b[0] > a[0], nil
}

func requiredBump(version string) string {
	if strings.HasPrefix(version, "0.") {
		return "minor version"
	}
	return "major version"
}

func parseVersion(version string) (numbers [2]int, err error) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return numbers, fmt.Errorf("info.version %q is not MAJOR.MINOR.PATCH", version)
	}
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(parts[i]); err != nil {
			return numbers, fmt.Errorf("info.version %q is not MAJOR.MINOR.PATCH", version)
		}
	}
	return numbers, nil
}
