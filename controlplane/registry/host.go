package registry

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// CheckHost refuses what is not host or host:port, and plain HTTP anywhere but
// on loopback.
func CheckHost(host string, insecure bool) error {
	if !validHost(host) {
		return controlplane.NewInvalidError("host", "registry_host_invalid",
			fmt.Sprintf("%q is not a registry's host", controlplane.ClipText(host)),
			"Write host or host:port, as in an image reference, without https://.")
	}
	if insecure && !isLoopback(host) {
		return controlplane.NewInvalidError("insecure", "registry_insecure",
			"plain HTTP is allowed on loopback only",
			"Give the registry a certificate and leave insecure out.")
	}
	return nil
}

func validHost(host string) bool {
	bare, port := splitHost(host)
	if port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return false
		}
	}
	if bare == "" || len(bare) > 253 || strings.HasSuffix(host, ":") {
		return false
	}
	if _, err := netip.ParseAddr(bare); err == nil {
		return true
	}
	for label := range strings.SplitSeq(bare, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	// Docker treats a bare word as a namespace, not as a host.
	return strings.ContainsAny(host, ".:") || bare == "localhost"
}

// splitHost takes host:port apart; the port is "" when there is none.
func splitHost(host string) (bare, port string) {
	if h, p, err := net.SplitHostPort(host); err == nil {
		return h, p
	}
	return strings.Trim(host, "[]"), ""
}

func isLoopback(host string) bool {
	bare, _ := splitHost(host)
	if addr, err := netip.ParseAddr(bare); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return bare == "localhost" || strings.HasSuffix(bare, ".localhost")
}

// isSameDomain reports whether credentials for the registry may go to the other host:
// the same one, or a sibling in the same domain, since many registries keep
// their token service beside them.
func isSameDomain(registry, other string) bool {
	a, _ := splitHost(strings.ToLower(registry))
	b, _ := splitHost(strings.ToLower(other))
	if a == b {
		return true
	}
	if _, err := netip.ParseAddr(a); err == nil {
		return false
	}
	return baseDomain(a) != "" && baseDomain(a) == baseDomain(b)
}

// baseDomain is the last two labels, or the last three where the second to last
// is as short as in co.uk.
func baseDomain(host string) string {
	labels := strings.Split(host, ".")
	n := 2
	if len(labels) >= 3 && len(labels[len(labels)-2]) <= 3 {
		n = 3
	}
	if len(labels) < n {
		return ""
	}
	return strings.Join(labels[len(labels)-n:], ".")
}

// CheckTag refuses what is not a tag by the grammar of image references.
func CheckTag(field, tag string) error {
	ok := tag != "" && len(tag) <= 128 && tag[0] != '.' && tag[0] != '-'
	for _, c := range []byte(tag) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '_' || c == '.' || c == '-')
	}
	if ok {
		return nil
	}
	return controlplane.NewInvalidError(field, "tag_invalid", fmt.Sprintf("%q is not a tag",
		controlplane.ClipText(tag)),
		"Use 1 to 128 letters, digits, underscores, dots and hyphens, "+
			"not starting with a dot or a hyphen.")
}

// isDeployable reports whether a name in a registry's list is the tag of a deployable
// image.
func isDeployable(tag string) bool {
	return CheckTag("tag", tag) == nil && !pipeline.IsArtifactTag(tag)
}

// CheckRepository refuses what is not a repository as an image reference
// spells it, without host and tag.
func CheckRepository(field, repository string) error {
	ok := repository != "" && len(repository) <= 255
	for part := range strings.SplitSeq(repository, "/") {
		ok = ok && part != "" && strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789._-") == "" &&
			strings.Trim(part[:1]+part[len(part)-1:], "._-") == part[:1]+part[len(part)-1:]
	}
	if ok {
		return nil
	}
	return controlplane.NewInvalidError(field, "image_invalid",
		fmt.Sprintf("%q is not a repository of a registry", controlplane.ClipText(repository)),
		"Write it as in an image reference, without host and tag, such as shop/api.")
}
