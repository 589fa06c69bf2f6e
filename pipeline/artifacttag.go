package pipeline

import "regexp"

// artifactTag is how signatures, attestations and bills of materials are
// tagged: after the digest of the image they belong to, as cosign does
// (sha256-HEX.sig), or alone, as the distribution specification does for
// registries without a referrers interface. Sixty-four digits keep it apart
// from builds that tag an image with a short commit, such as sha-3f2a1bc.
var artifactTag = regexp.MustCompile(`^sha(256|384|512)-[0-9a-f]{64,}(\.[A-Za-z0-9_.-]+)?$`)

// IsArtifactTag reports whether a tag names something that belongs to an image
// and cannot be run itself.
func IsArtifactTag(tag string) bool { return artifactTag.MatchString(tag) }
