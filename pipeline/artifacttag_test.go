package pipeline_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

func TestIsArtifactTag(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("0a", 32)
	for tag, want := range map[string]bool{
		"sha256-" + hex: true, "sha256-" + hex + ".sig": true, "sha256-" + hex + ".att": true,
		"sha256-" + hex + ".sbom": true, "sha512-" + hex: true, "sha512-" + hex + hex[:40]: true,
		"sha-3f2a1bc": false, "sha256-3f2a1bc": false, "v1.0-sha256-" + hex: false,
		"sha256-" + hex[:63]: false, "sha256-" + hex + "-amd64": false, "latest": false, "": false,
	} {
		if got := pipeline.IsArtifactTag(tag); got != want {
			t.Errorf("%q: %v, want %v", tag, got, want)
		}
	}
}
