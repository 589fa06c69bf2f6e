package ingress

import "strings"

// Limits of RFC 1035, section 2.3.4.
const (
	maxHost  = 253
	maxLabel = 63
)

// Canonical returns the one form in which a host is stored and looked up: lower case,
// without port and without the trailing dot of a full name. It reports false for anything
// but a plain DNS name: an empty host, user info, IPv6, underscores, anything but letters,
// digits and hyphens between the dots. Such a host is unknown. It is never repaired, since
// another reader of the same request may repair it differently.
func Canonical(host string) (string, bool) {
	host, ok := cutPort(host)
	if !ok {
		return "", false
	}
	host = strings.TrimSuffix(host, ".")
	lower, ok := checkLabels(host)
	if !ok {
		return "", false
	}
	if lower {
		return host, true // the usual case: no copy
	}
	return strings.ToLower(host), true
}

// cutPort removes ":port". A colon without a port, or a second colon, is not
// a spelling we know.
func cutPort(host string) (string, bool) {
	before, after, ok := strings.Cut(host, ":")
	if !ok {
		return host, true
	}
	return before, isPort(after)
}

func isPort(s string) bool {
	if len(s) == 0 || len(s) > 5 {
		return false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n > 0 && n <= 65535
}

// checkLabels walks the host once. It reports whether every letter is lower
// case already, and whether every label is one.
func checkLabels(host string) (lower, ok bool) {
	if len(host) == 0 || len(host) > maxHost {
		return false, false
	}
	lower = true
	start := 0
	for i := 0; i <= len(host); i++ {
		if i == len(host) || host[i] == '.' {
			if !hasValidLabelEnds(host[start:i]) {
				return false, false
			}
			start = i + 1
			continue
		}
		switch c := host[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
		case 'A' <= c && c <= 'Z':
			lower = false
		default:
			return false, false
		}
	}
	return lower, true
}

func hasValidLabelEnds(label string) bool {
	n := len(label)
	return n > 0 && n <= maxLabel && label[0] != '-' && label[n-1] != '-'
}
