package controlplane

import "slices"

// ImageFacts is what a tag or a digest means.
type ImageFacts struct {
	Digest string
	// Arches are the processors it is built for, as images name them; empty when
	// it does not say.
	Arches []string
}

// ArchOf is a node's processor as images name it, or nothing when the node
// named none that we know.
func ArchOf(told string) string {
	switch told {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "armv6l", "armv7l", "armhf":
		return "arm"
	case "i386", "i686":
		return "386"
	}
	known := []string{"amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64"}
	if slices.Contains(known, told) {
		return told
	}
	return ""
}
